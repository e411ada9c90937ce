"""Background tasks go on after a failure."""

import asyncio

import pytest

from stead.control.engines.nats import NatsDown
from stead.control.tasks import PreparationTask, TaskRunner
from stead.shared import supervision
from tests.patience import time_limit


@pytest.mark.parametrize("failure", [NatsDown, TimeoutError, ValueError])
async def test_a_preparation_that_fails_is_started_again_until_it_returns(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the test need not wait for the pauses that ship.
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.0)
    runs, done = 0, asyncio.Event()

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise failure
        done.set()

    runner = TaskRunner([PreparationTask("fails.twice", run)])
    runner.start()
    async with time_limit(10):
        await done.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    await runner.stop()
    assert runs == 3
