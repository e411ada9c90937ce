"""What functions log is read for the insights of their site, also when a log becomes too long."""

from pathlib import Path
from typing import Any

import pytest

from stead.node.drivers.driver import SiteLog
from stead.node.functions import log_files, places
from stead.node.functions.driver import CONTAINER, prepare_directories
from stead.node.functions.log_files import LogFiles
from stead.node.functions.spec import FunctionSpec
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spool import Spool
from stead.shared.ids import new_id
from tests.node.telemetry.chunk_files import read_rows

SPEC = FunctionSpec(
    function=new_id("fn"),
    version=new_id("fnv"),
    site="site_1",
    environment="env_1",
    release="rel",
    is_component=True,
    memory_mb=64,
    wall_ms=500,
    request_bytes=1000,
)


class Log:
    def __init__(self, data: Path) -> None:
        prepare_directories(data)
        self.path = places.log_file(data, SPEC.function)
        self.files, self._spool = LogFiles(data), Spool(data / "telemetry")
        self._source = LogSource(lambda: [SiteLog("env_1", self.path, CONTAINER)], self._spool)

    def write(self, *lines: str, **report: Any) -> None:
        self.files.write(SPEC, {"log": list(lines), **report}, ("a secret",))

    def take(self, to: int = 6) -> list[list[str]]:
        """The severity, container, service and text of each new line, and its trace if wanted."""
        self._source.read_new()
        rows = []
        while (chunk := self._spool.next_chunk()) is not None:
            rows += [row[2:to] for row in read_rows(chunk)]
            self._spool.remove(chunk)
        return rows


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_lines_of_functions_and_the_reasons_of_failures_are_in_insights(log: Log) -> None:
    log.write("hello, a secret", reason="function_trap", detail="unreachable")
    assert log.take() == [
        ["INFO", CONTAINER, "function", f"{SPEC.version} hello, [secret]"],
        ["ERROR", CONTAINER, "function", f"{SPEC.version} failed: function_trap unreachable"],
    ]
    assert log.take() == []


def test_a_line_is_found_by_the_trace_of_its_request(log: Log) -> None:
    trace = {"id": "a" * 32, "parent": "b" * 16, "span": "c" * 16}
    log.write("traced", trace=trace, began=1.7e9, name="GET /")
    log.write("forged", trace={**trace, "id": "../etc"}, began=1.7e9, name="GET /")
    log.write(f"{SPEC.version} {'d' * 32} not the trace of this line")
    assert [row[3:] for row in log.take(to=7)] == [
        [f"{SPEC.version} traced", "a" * 32],
        [f"{SPEC.version} forged", ""],
        [f"{SPEC.version} {SPEC.version} {'d' * 32} not the trace of this line", ""],
    ]


def test_a_log_that_is_too_long_keeps_its_newest_lines_and_loses_none_for_insights(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "MAX_BYTES", 4000)
    monkeypatch.setattr(log_files, "KEPT_BYTES", 2000)
    seen = []
    for number in range(100):
        log.write(f"line {number:03d}")
        if number % 7 == 0:
            seen += log.take()
    seen += log.take()
    assert [row[3].rpartition(" ")[2] for row in seen] == [f"{number:03d}" for number in range(100)]
    assert log.path.stat().st_size < 5000
