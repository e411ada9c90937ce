"""No environment fills the disks of all."""

import time
from pathlib import Path

import pytest

from stead.node.drivers.driver import SiteLog, SiteSpan
from stead.node.telemetry import site_logs, spans
from stead.node.telemetry.daily_volume import DAY_SECONDS, DailyVolume
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spans import SpanSource
from stead.node.telemetry.spool import Spool
from tests.node.telemetry.chunk_files import read_rows


def test_an_environment_gets_its_volume_once_a_day_and_takes_nothing_from_others() -> None:
    now, used_up = 0.0, list[str]()
    volume = DailyVolume(2_400, lambda: now)

    def take(environment: str, size: int) -> bool:
        return volume.take(environment, size, used_up.append)

    assert [take("env_1", 1_000) for _ in range(4)] == [True, True, False, False]
    assert used_up == ["env_1"], "it is said once"
    assert take("env_2", 2_400)
    now = DAY_SECONDS / 24 * 0.5
    assert not take("env_1", 1), "not in small pieces"
    kept = 0
    for hour in range(1, 1 + 24 * 10):
        now = DAY_SECONDS / 24 * hour
        kept += sum(take("env_1", 10) for _ in range(100)) * 10
    assert kept <= 2_400 * 11
    assert kept >= 2_400 * 9


def test_the_number_of_environments_that_are_remembered_is_bounded() -> None:
    volume, used_up = DailyVolume(10, lambda: 0.0, most=3), list[str]()
    for number in range(10):
        assert volume.take(f"env_{number}", 10, used_up.append)
    assert len(volume._rooms) == 3


def take_rows(spool: Spool, stream: str) -> list[list[str]]:
    found = []
    while (chunk := spool.next_chunk()) is not None:
        if chunk.chunk.stream == stream:
            found += read_rows(chunk)
        spool.remove(chunk)
    return found


def test_a_site_that_writes_too_much_in_a_day_loses_lines_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_logs, "BYTES_PER_DAY", 5_000)
    spool = Spool(tmp_path / "telemetry")
    logs = [SiteLog(name, tmp_path / name, "php") for name in ("env_1", "env_2")]
    source = LogSource(lambda: logs, spool)
    for number in range(10):
        with (tmp_path / "env_1").open("a") as file:
            file.write(f"{number:03d} " + "x" * 995 + "\n")
        with (tmp_path / "env_2").open("a") as file:
            file.write(f"{number}\n")
        source.read_new()
    rows = take_rows(spool, "logs")
    mine = [row[5] for row in rows if row[0] == "env_1"]
    assert [line[:3] for line in mine[:-1]] == ["000", "001", "002", "003", "004"]
    assert mine[-1] == site_logs._TOO_MUCH
    assert [row[5] for row in rows if row[0] == "env_2"] == [str(number) for number in range(10)]


def test_a_site_that_reports_too_many_spans_in_a_day_is_told_in_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "BYTES_PER_DAY", 5_000)
    spool = Spool(tmp_path / "telemetry")
    logs = LogSource(list, spool)
    reported = [
        SiteSpan(environment, "t", "s", "", "php", "x" * 200, time.time(), 1)
        for environment in ["env_1"] * 100 + ["env_2"]
    ]
    source = SpanSource(lambda: reported, spool, logs.add_notice)
    source.read_new()
    kept = [row[0] for row in take_rows(spool, "spans")]
    assert 10 < kept.count("env_1") <= 25
    assert kept.count("env_2") == 1
    logs.read_new()
    logs.read_new()
    assert [(row[0], row[5]) for row in take_rows(spool, "logs")] == [("env_1", spans._TOO_MUCH)]
