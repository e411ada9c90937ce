"""`steadctl node`: assembles the agent and runs it until it receives a signal."""

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from stead.node.access.table import AccessTable
from stead.node.agent import Agent
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Driver
from stead.node.drivers.installed import install_drivers
from stead.node.drivers.layout import edge_store, probe_socket
from stead.node.execution import Execution
from stead.node.feed.feed import EdgeFeedClient
from stead.node.feed.run_directory import ADMIN_SOCKET
from stead.node.health import serve_health
from stead.node.hot_pages import HotPages, VisitedPages
from stead.node.journal import Journal
from stead.node.ledger_rotation import LedgerRotation
from stead.node.leftovers import end_leftovers
from stead.node.listed_networks import ListedNetworks
from stead.node.mail_reports import MailReporter
from stead.node.measurements import MEASURE_SECONDS, Measurements
from stead.node.metrics import node_tasks
from stead.node.nats_connection import NatsConnection
from stead.node.output import JobOutput
from stead.node.output_budget import OutputLedger
from stead.node.platform_reports import PlatformReporter
from stead.node.processes import Processes
from stead.node.questions import Questions
from stead.node.settings import Settings, SettingsInvalid, from_environment
from stead.node.sign_in_requests import SignInRequests
from stead.node.ssh.session_reports import SessionReports
from stead.node.telemetry.ledger_source import LedgerSource
from stead.node.telemetry.resource_samples import ResourceSource
from stead.node.telemetry.shipper import Shipper
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spans import SpanSource
from stead.node.telemetry.spool import Spool
from stead.node.visits import VisitReporter
from stead.node.work_opener import work_opener
from stead.protocol.platform import REPORT_SECONDS
from stead.protocol.subjects import Node
from stead.shared import log as logging
from stead.shared import open_files
from stead.shared.supervision import Supervisor

COMMANDS_END_SECONDS = 5.0
"""Of ten that `steadctl dev` waits before it kills the node: what drivers close must be closed meanwhile."""

log = structlog.get_logger()


def run() -> None:
    logging.configure()
    try:
        settings = from_environment()
    except SettingsInvalid as error:
        sys.exit(str(error))
    # The edge's workers must reach releases and environments in it; the journal has a private mode of its
    # own.
    settings.data.mkdir(parents=True, exist_ok=True)
    settings.data.chmod(0o711)
    # Every environment has sockets, and every connection to the internet has two.
    open_files.raise_limit()
    with _lock(settings.data):
        asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Return after SIGTERM or SIGINT. Running commands stay in the journal and are resumed at the next
    start."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    journal = Journal(settings.data / "journal.sqlite", settings.node_id)
    output = OutputLedger(settings.data / "output.sqlite")
    access = AccessTable(settings.data / "access.sqlite")
    spool = Spool(settings.data / "telemetry")
    try:
        if ended := end_leftovers(journal.token):
            log.warning("leftovers.ended", processes=ended)
        await _serve(settings, journal, output, access, spool, stop)
    finally:
        spool.close()
        access.close()
        output.close()
        journal.close()


async def _serve(
    settings: Settings,
    journal: Journal,
    output: OutputLedger,
    access: AccessTable,
    spool: Spool,
    stop: asyncio.Event,
) -> None:
    output.remove_old()
    connection, node = NatsConnection(settings), Node(settings.node_id)
    space = DiskSpace(settings.data, settings.node_min_free_mb)
    visited_pages = VisitedPages()
    ledger_source = LedgerSource(settings.ledger, spool)
    visits = VisitReporter(
        settings.node_id,
        settings.ledger,
        connection,
        LedgerRotation(
            settings.ledger,
            settings.data / "run" / "nginx.pid",
            before_removal=ledger_source.before_removal,
        ),
        every=settings.visits_seconds,
        on_page=visited_pages.add,
    )
    session_reports = SessionReports(settings.node_id, connection)
    drivers = install_drivers(
        settings,
        Processes(journal.token).run,
        space,
        access,
        visits.visited_ago,
        SignInRequests(settings.node_id, connection).ask,
        session_reports.add,
    )

    def live() -> Sequence[Driver]:
        return drivers["live"].drivers

    visits.list_changed = lambda: {
        env: moment for driver in live() for env, moment in driver.list_changed_components().items()
    }
    logs = LogSource(
        lambda: [log for driver in live() for log in driver.list_logs()],
        spool,
        lambda *line: next((found for each in live() if (found := each.find_trace(*line))), ""),
    )
    shipper = Shipper(
        settings.node_id,
        connection,
        spool,
        ledger_source,
        logs,
        ResourceSource(lambda: [each for driver in live() for each in driver.list_containers()], spool),
        SpanSource(
            lambda: [span for driver in live() for span in driver.take_spans()], spool, logs.add_notice
        ),
        every=settings.telemetry_seconds,
    )
    execution = Execution(
        journal,
        drivers,
        lambda command: JobOutput(
            connection, node, command.job, budget=output.budget(command.job, command.site)
        ),
        open_work=work_opener(settings.private_key),
        max_running=settings.node_commands,
    )
    supervisor = Supervisor(node_tasks.count_failure, on_start=node_tasks.watch)
    measurements = Measurements(connection, journal, space, settings.data / "run" / ADMIN_SOCKET)
    edge_feed = EdgeFeedClient(settings, connection)
    hot_pages = HotPages(
        visited_pages,
        edge_store(settings.data),
        settings.node_region,
        probe_socket(settings.data),
        lambda environment: any(driver.is_awake(environment) for driver in drivers["live"].drivers),
        lambda environment: sum(driver.count_purges(environment) for driver in drivers["live"].drivers),
    )
    mail_reports = MailReporter(
        settings.node_id,
        connection,
        lambda: [mail for driver in drivers["live"].drivers for mail in driver.list_captured_mail()],
    )
    questions = Questions(settings.node_id, connection, drivers)
    networks = ListedNetworks(settings.listed_networks, settings.data, every=settings.listed_networks_seconds)
    agent_program = Agent(
        settings,
        journal,
        connection,
        execution,
        drivers,
        space,
        supervisor=supervisor,
        count_skipped=lambda: edge_feed.skipped,
    )

    def report_health() -> dict[str, object]:
        status = "ready" if connection.connected else "unavailable"
        engines = {"nats": connection.connected}
        return {"status": status, "engines": engines, "failing_tasks": supervisor.failing}

    async with (
        connection.keep_open(),
        serve_health(settings.node_health_host, settings.node_health_port, report_health),
    ):
        agent = asyncio.create_task(agent_program.run())
        supervisor.keep_running("edge.feed", edge_feed.run)
        supervisor.keep_running("visits.report", visits.run)
        supervisor.keep_running("telemetry.ship", shipper.run)
        supervisor.keep_running("sessions.report", session_reports.run)
        supervisor.keep_running("pages.keep_hot", hot_pages.run)
        supervisor.keep_running("mail.report", mail_reports.run)
        supervisor.keep_running("questions.answer", questions.run)
        supervisor.keep_running("networks.refresh", networks.run)
        supervisor.repeat("metrics.measure", MEASURE_SECONDS, measurements.measure)
        platform = PlatformReporter(settings.node_id, connection)
        supervisor.repeat("platform.report", REPORT_SECONDS, platform.report)
        stopping = asyncio.create_task(stop.wait())
        log.info("node.started", node=settings.node_id, region=settings.node_region)
        try:
            await asyncio.wait({agent, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if agent.done():
                agent.result()
        finally:
            for task in (agent, stopping):
                task.cancel()
            await asyncio.wait({agent, stopping})
            # Commands use what the tasks of drivers close at their end, such as mounted disks.
            await execution.stop(COMMANDS_END_SECONDS)
            await supervisor.stop()
            await execution.stop()
            await measurements.close()
    log.info("node.stopped", node=settings.node_id)


@contextmanager
def _lock(data: Path) -> Iterator[None]:
    """Two agents with the same journal would both execute every command. The lock ends with the process."""
    descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another agent runs from {data}")
    try:
        yield
    finally:
        os.close(descriptor)
