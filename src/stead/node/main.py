"""`steadctl node`: assembles the agent and runs it until it receives a signal."""

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from stead.node.agent import Agent
from stead.node.drivers.installed import install_drivers
from stead.node.execution import Execution
from stead.node.feed.feed import EdgeFeedClient
from stead.node.journal import Journal
from stead.node.leftovers import end_leftovers
from stead.node.nats_connection import NatsConnection
from stead.node.output import JobOutput
from stead.node.processes import Processes
from stead.node.settings import Settings, SettingsInvalid, from_environment
from stead.node.visits import VisitReporter
from stead.protocol.subjects import Node
from stead.shared import log as logging

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
    with _lock(settings.data):
        asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Return after SIGTERM or SIGINT. Running commands stay in the journal and are resumed at the next
    start."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    journal = Journal(settings.data / "journal.sqlite", settings.node_id)
    try:
        if ended := end_leftovers(journal.token):
            log.warning("leftovers.ended", processes=ended)
        await _serve(settings, journal, stop)
    finally:
        journal.close()


async def _serve(settings: Settings, journal: Journal, stop: asyncio.Event) -> None:
    connection, node = NatsConnection(settings), Node(settings.node_id)
    drivers = install_drivers(settings, Processes(journal.token).run)
    execution = Execution(
        journal,
        drivers,
        lambda command: JobOutput(connection, node, command.job),
        max_running=settings.node_commands,
    )
    async with connection.keep_open():
        agent = asyncio.create_task(Agent(settings, journal, connection, execution, drivers).run())
        feed = asyncio.create_task(EdgeFeedClient(settings, connection).run())
        visits = VisitReporter(settings.node_id, settings.ledger, connection, every=settings.visits_seconds)
        reporting = asyncio.create_task(visits.run())
        stopping = asyncio.create_task(stop.wait())
        log.info("node.started", node=settings.node_id, region=settings.node_region)
        try:
            await asyncio.wait({agent, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if agent.done():
                agent.result()
        finally:
            for task in (agent, feed, reporting, stopping):
                task.cancel()
            await asyncio.wait({agent, feed, reporting, stopping})
            await execution.stop()
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
