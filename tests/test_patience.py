"""A time limit follows the speed of the machine, and still ends."""

import asyncio
import time

import pytest

from tests import patience
from tests.patience import Patience, StolenTime, time_limit


async def test_a_limit_ends_on_an_idle_machine_when_it_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patience, "slowdown", lambda: 1.0)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with time_limit(0.3):
            await asyncio.sleep(60)
    assert time.monotonic() - began >= 0.3


def test_a_limit_lasts_longer_on_a_slow_machine(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(patience, "slowdown", lambda: 4.0)
    limit = Patience(60)
    now = 200.0
    assert not limit.is_over
    now = 241.0
    assert limit.is_over


def test_what_the_host_gives_to_others_makes_a_machine_slower(monkeypatch: pytest.MonkeyPatch):
    seen = [(1000, 100), (1050, 100), (2000, 600), (2010, 610), (4000, 4000)]
    monkeypatch.setattr(patience, "_read_ticks", lambda: seen.pop(0))
    stolen = StolenTime()
    assert [stolen.share for _ in range(4)] == [0.0, 0.5, 0.5, 0.9]
    monkeypatch.setattr(patience, "_stolen", stolen)
    monkeypatch.setattr(patience, "_read_ticks", lambda: (4000, 4000))
    monkeypatch.setattr(patience, "_demand", lambda: (0.1, 1))
    monkeypatch.setattr(patience, "_core_slowdown", lambda: 1.0)
    patience._measure.cache_clear()
    assert patience.slowdown() == pytest.approx(10.0)
    patience._measure.cache_clear()


def test_a_machine_is_never_faster_than_the_reference_and_a_limit_is_never_endless():
    assert 1.0 <= patience.slowdown() <= patience.MOST
