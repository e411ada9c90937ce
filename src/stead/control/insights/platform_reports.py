"""What the API, workers and nodes record about themselves: sent every half minute, received by a worker, and
inserted into ClickHouse. It may be lost; nothing waits for it."""

import os
import socket
import time
from collections.abc import Callable

import msgspec
import structlog

from stead.control.engines.clickhouse import ClickHouse, ClickHouseUnavailable, QueryTooExpensive
from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.insights import platform_store as tables
from stead.protocol import subjects
from stead.protocol.platform import encode, make_reports, read_report
from stead.protocol.subjects import Program
from stead.shared.metrics import Metrics
from stead.shared.own_records import OwnLog, own_log, take_samples
from stead.shared.token_bucket import TokenBuckets

MAX_ROWS = 50_000
"""How many rows of each kind wait for ClickHouse. More are lost."""
PER_SECOND, BURST = 1.0, 60
"""Reports of one node."""
INSERT_SECONDS = 5.0

log = structlog.get_logger()


class PlatformReporter:
    """Of this process."""

    def __init__(self, nats: Nats, program: Program, metrics: Metrics, lines: OwnLog = own_log) -> None:
        self._nats, self._program, self._metrics, self._lines = nats, program, metrics, lines
        self._instance = subjects.token(f"{_host_name()}-{os.getpid()}")

    async def report(self) -> None:
        """While NATS is down, lines wait, and samples are left out."""
        reports = make_reports(self._instance, time.time(), self._lines, take_samples(self._metrics))
        while reports:
            try:
                await self._nats.client.publish(subjects.platform(self._program), encode(reports[0]))
            except NATS_UNREACHABLE:
                self._lines.put_back([line for each in reports for line in each.lines])
                return
            del reports[0]


class PlatformReceiver:
    """Collects reports, and inserts them together: ClickHouse is slow at many small inserts."""

    def __init__(self, nats: Nats, clickhouse: ClickHouse, *, clock: Callable[[], float] = time.time) -> None:
        self._nats, self._clickhouse, self._clock = nats, clickhouse, clock
        self._allowed = TokenBuckets(PER_SECOND, BURST)
        self._logs: list[bytes] = []
        self._metrics: list[bytes] = []
        self._subscribed: set[str] = set()

    async def start(self) -> None:
        """Can be called again if it failed. One of all workers gets each report."""
        await self._nats.ready()
        await tables.create_platform_tables(self._clickhouse)
        for subject in subjects.PLATFORM_REPORTS:
            if subject not in self._subscribed:
                await self._nats.client.subscribe(subject, queue="workers", cb=self._receive)
                self._subscribed.add(subject)

    async def _receive(self, message: Message) -> None:
        self.receive(message.subject, message.data)

    def receive(self, subject: str, data: bytes) -> None:
        """NATS lets each program publish only under its own name."""
        first, second, *_ = subject.split(".")
        program = "node" if first == "node" else second
        if program == "node" and not self._allowed.take(second):
            return
        try:
            report = read_report(data)
        except msgspec.MsgspecError:
            log.warning("platform.malformed")
            return
        if program == "node" and report.instance != second:
            log.warning("platform.malformed", node=second)
            return
        now = self._clock()
        self._logs = [*self._logs, *tables.log_rows(program, report, now)][-MAX_ROWS:]
        self._metrics = [*self._metrics, *tables.metric_rows(program, report, now)][-MAX_ROWS:]

    async def insert(self) -> None:
        """What could not be inserted stays, up to a limit."""
        logs, self._logs = self._logs, []
        metrics, self._metrics = self._metrics, []
        try:
            if logs:
                await tables.insert_logs(self._clickhouse, logs)
                logs = []
            if metrics:
                await tables.insert_metrics(self._clickhouse, metrics)
                metrics = []
        except (ClickHouseUnavailable, QueryTooExpensive) as error:
            log.info("platform.delayed", reason=type(error).__name__)
        finally:
            self._logs, self._metrics = [*logs, *self._logs], [*metrics, *self._metrics]


def _host_name() -> str:
    return "".join(each if each.isalnum() and each.isascii() else "-" for each in socket.gethostname())[:60]
