"""What programs record about themselves reaches operators, and contains nothing of tenants."""

import secrets
import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from stead.control import provisioning
from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import ClickHouse
from stead.control.insights import platform_reports
from stead.control.insights.platform_reports import PlatformReceiver, PlatformReporter
from stead.control.insights.platform_store import (
    LineFilter,
    create_platform_tables,
    list_lines,
    list_series,
)
from stead.protocol import subjects
from stead.protocol.platform import MAX_RECORDS, PlatformReport, encode, make_reports
from stead.protocol.subjects import Program
from stead.shared import own_records
from stead.shared.metrics import Metrics
from stead.shared.own_records import LogRecord, MetricSample, OwnLog, reduce_line
from stead.steadctl import app

TENANT: dict[str, Any] = {
    "site": "site_01k9zy3v7d00r3m8w5x2t6b4qa",
    "environment": "env_01k9zy3v7d00r3m8w5x2t6b4qa",
    "container": "env_01k9zy3v7d00r3m8w5x2t6b4qa-php",
    "tenant": "client_01k9zy3v7d00r3m8w5x2t6b4qa",
    "host": "www.example.com",
    "address": "192.0.2.7",
    "path": "/wp-content/secret",
    "message": "person@example.com",
    "job": "job_01k9zy3v7d00r3m8w5x2t6b4qa",
    "subject": "job.job_01k9zy3v7d00r3m8w5x2t6b4qa.out.worker",
}


def new_event() -> str:
    return f"test.e{secrets.token_hex(6)}"


def line(**fields: Any) -> dict[str, Any]:
    return {"event": "task.failed", "level": "error", "ts": "2026-11-17T08:00:00.5Z", **fields}


def test_fields_about_tenants_are_left_out() -> None:
    kept = {"task": "jobs.dispatch", "error": "TimeoutError", "attempts": 3, "node": "node-1"}
    record = reduce_line(line(**TENANT, **kept))
    assert record is not None
    assert record.fields == kept


@pytest.mark.parametrize("field", sorted(own_records.CODE_FIELDS | own_records.TYPE_FIELDS))
@pytest.mark.parametrize("value", [*TENANT.values(), "x" * 65, "no such host: www.example.com", None, ["a"]])
def test_a_field_that_is_kept_must_be_a_word_and_no_id(field: str, value: object) -> None:
    record = reduce_line(line(**{field: value}))
    assert record is not None
    # Only the code and the operator choose these, so they may have dots.
    if field in own_records.TYPE_FIELDS or value not in ("www.example.com", "192.0.2.7"):
        assert field == "level" or field not in record.fields


@given(st.dictionaries(st.text(max_size=20), st.text() | st.floats() | st.none(), max_size=40))
@settings(max_examples=200, deadline=None)
def test_every_reduced_line_is_valid_where_it_arrives(fields: dict[str, Any]) -> None:
    record = reduce_line(fields | line())
    assert record is not None
    assert own_records.is_valid_line(record)


def test_when_too_many_lines_wait_the_oldest_are_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_records, "MAX_LINES", 3)
    log = OwnLog()
    for number in range(5):
        log.process(None, "", line(number=number))
    taken = log.take(2)
    assert [each.fields["number"] for each in taken] == [2, 3]
    assert log.lost == 2
    log.process(None, "", line(number=5))
    log.put_back(taken)
    assert [each.fields["number"] for each in log.take(10)] == [3, 4, 5]
    assert log.lost == 3


def test_reports_are_small_and_contain_everything_once() -> None:
    log = OwnLog()
    for number in range(MAX_RECORDS + 1):
        log.process(None, "", line(number=number))
    samples = [MetricSample("stead_x", {}, float(number)) for number in range(2 * MAX_RECORDS + 1)]
    reports = make_reports("here", time.time(), log, samples)
    assert [len(each.lines) for each in reports] == [MAX_RECORDS, 1, 0]
    assert [sample.value for each in reports for sample in each.samples] == [each.value for each in samples]
    assert not make_reports("here", time.time(), log, [])


class Nats:
    """Delivers what is published to one receiver."""

    def __init__(self, receiver: PlatformReceiver | None = None) -> None:
        self._receiver = receiver

    @property
    def client(self) -> "Nats":
        if self._receiver is None:
            raise ConnectionError
        return self

    async def publish(self, subject: str, data: bytes) -> None:
        assert self._receiver is not None
        self._receiver.receive(subject, data)


@pytest.fixture
async def receiver(plane: ControlPlane) -> PlatformReceiver:
    await create_platform_tables(plane.clickhouse)
    return PlatformReceiver(plane.nats, plane.clickhouse)


async def test_lines_and_metrics_of_a_program_are_shown_to_operators(
    plane: ControlPlane, receiver: PlatformReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, event, own = OwnLog(), new_event(), Metrics()
    counter = own.counter("stead_requests_total", "Handled requests.", "operation", "status")
    counter.labels(event, "200").inc(7)
    logger = structlog.wrap_logger(
        structlog.ReturnLogger(),
        [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            lines.process,
        ],
    )
    logger.warning(event, **TENANT, seconds=2.5)
    down = PlatformReporter(Nats(), Program.API, own, lines)  # type: ignore[arg-type]
    await down.report()
    up = PlatformReporter(Nats(receiver), Program.API, own, lines)  # type: ignore[arg-type]
    await up.report()
    await receiver.insert()
    (found,) = await list_lines(plane.clickhouse, LineFilter(event=event))
    assert (found.program, found.level) == ("api", "warning")
    assert msgspec.json.decode(found.fields) == {"seconds": 2.5}
    series = await list_series(plane.clickhouse, "stead_requests", 1)
    assert [each.last for each in series if event in each.labels] == [7]

    monkeypatch.setattr(provisioning, "from_environment", lambda: plane.settings)
    shown = await provisioning.platform_logs(1, "api", "", "warning", event, 10)
    assert event in shown
    assert not any(str(value) in shown for value in TENANT.values())
    assert event in await provisioning.platform_metrics("stead_requests", 1)
    assert await provisioning.platform_logs(1, "worker", "", "", event, 10) == ""


def test_metrics_of_the_programs_can_all_be_sent() -> None:
    """In a process of its own: other tests count things with names of their own."""
    script = """
from stead.control import metrics
from stead.control.features import FEATURES, all_operations
from stead.shared.own_records import is_valid_sample, take_samples

for operation in all_operations():
    metrics.requests.labels(operation.id, "200").inc()
for workflow in (each for feature in FEATURES for each in feature.workflows):
    metrics.jobs_ended.labels(workflow.name, "ok").inc()
for declared in (metrics.API, metrics.WORKER):
    samples = take_samples(declared)
    print(len(samples), [each for each in samples if not is_valid_sample(each)])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    of_api, of_worker = (line.partition(" ") for line in done.stdout.splitlines())
    assert (of_api[2], of_worker[2]) == ("[]", "[]")
    assert int(of_api[0]) > 100
    assert int(of_worker[0]) > 40


async def test_a_node_is_believed_only_about_itself_and_not_about_tenants(
    plane: ControlPlane, receiver: PlatformReceiver
) -> None:
    now, event = time.time(), new_event()
    good = LogRecord(now, "info", event, {"number": 1})
    bad = [
        LogRecord(now, "info", event, {"site": "site_01k9zy3v7d00r3m8w5x2t6b4qa"}),
        LogRecord(now, "info", event, {"reason": "person@example.com"}),
        LogRecord(now + 4000, "info", event, {}),
        LogRecord(now - 10 * 86_400, "info", event, {}),
        LogRecord(now, "info", f"{event} and more", {}),
        LogRecord(now, "person@example.com", event, {}),
    ]
    samples = (
        MetricSample("stead_x", {"kind": "site_01k9zy3v7d00r3m8w5x2t6b4qa"}, 1.0),
        MetricSample("stead_x", {"kind": "a b@example.com"}, 1.0),
        MetricSample("other", {}, 1.0),
    )
    subject = subjects.platform_of_node("node-1")
    receiver.receive(subject, encode(PlatformReport("node-1", now, (good, *bad), samples)))
    receiver.receive(subject, encode(PlatformReport("node-2", now, (good,))))
    receiver.receive(subject, b"no report")
    await receiver.insert()
    found = await list_lines(plane.clickhouse, LineFilter(event=event))
    assert [each[1:3] for each in found] == [("node", "node-1")]
    assert found[0].fields == '{"number":1}'
    assert await list_series(plane.clickhouse, "other", 1) == []


async def test_a_flood_of_reports_is_bounded_and_waits_while_clickhouse_is_down(
    plane: ControlPlane, receiver: PlatformReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform_reports, "MAX_ROWS", 5)
    down = ClickHouse("http://nobody:x@127.0.0.1:1/stead")
    waiting, event = PlatformReceiver(plane.nats, down), new_event()
    subject = subjects.platform_of_node("node-1")
    for number in range(100):
        record = LogRecord(time.time(), "info", event, {"number": number})
        waiting.receive(subject, encode(PlatformReport("node-1", time.time(), (record,))))
    await waiting.insert()
    down.close()
    waiting._clickhouse = plane.clickhouse
    await waiting.insert()
    found = await list_lines(plane.clickhouse, LineFilter(event=event))
    numbers = [msgspec.json.decode(each.fields)["number"] for each in reversed(found)]
    assert len(numbers) == 5
    assert max(numbers) < platform_reports.BURST + 5


def test_operators_are_told_when_clickhouse_does_not_respond(monkeypatch: pytest.MonkeyPatch) -> None:
    class Settings:
        clickhouse_url = "http://nobody:x@127.0.0.1:1/stead"

    monkeypatch.setattr(provisioning, "from_environment", Settings)
    for command in (["logs"], ["metrics"]):
        result = CliRunner().invoke(app, ["insights", *command])
        assert result.exit_code == 1
        assert "does not respond" in result.output
