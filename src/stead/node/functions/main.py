"""`steadctl functions`: assembles the host of functions and runs it until it receives a signal."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import structlog

from stead.node.containers.egress_rules import EgressRules, read_networks, read_plain_networks
from stead.node.functions import places
from stead.node.functions.assembly import why_unavailable
from stead.node.functions.container import FunctionsContainer, default_memory_mb
from stead.node.functions.driver import FunctionTable, prepare_directories
from stead.node.functions.host import FunctionsHost
from stead.node.functions.outgoing import Outgoing
from stead.node.functions.spec import FunctionSecrets, FunctionSpec
from stead.node.functions.state_client import StateClient
from stead.node.hosting.desired_state import DesiredState
from stead.node.nats_connection import NatsConnection
from stead.node.platform_addresses import find_platform_addresses
from stead.node.settings import Settings, SettingsInvalid, from_environment
from stead.shared import log as logging
from stead.shared import open_files

PROCESSES = 16_384
"""Processes and threads of all functions together. A process has three threads."""
LEAST_MB = 64
WORKER_MB = 8
"""What a process with a small function uses. No more are started than have room, so that idle ones end before
the kernel ends any."""

REFRESH_SECONDS = 60.0
SITE_SHARE = 4
"""A site may use this part of the memory of all functions."""

log = structlog.get_logger()


def run() -> None:
    logging.configure()
    try:
        settings = from_environment()
    except SettingsInvalid as error:
        sys.exit(str(error))
    key = settings.private_key
    if key is None or (reason := why_unavailable(settings)):
        # A development stack without root has no functions.
        log.warning("functions.unavailable", reason="STEAD_NODE_KEY is not set" if key is None else reason)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
        return
    open_files.raise_limit()
    settings.data.mkdir(parents=True, exist_ok=True)
    prepare_directories(settings.data)
    asyncio.run(serve(settings, key))


async def serve(settings: Settings, key: bytes) -> None:
    """Return after SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    connection = NatsConnection(settings)
    table: FunctionTable = DesiredState(places.state_file(settings.data), FunctionSpec, FunctionSecrets, key)
    memory = max(LEAST_MB, settings.functions_memory_mb or default_memory_mb())
    outgoing = Outgoing(_egress_rules(settings), Path(settings.build_trust))
    host = FunctionsHost(
        settings.data,
        table,
        FunctionsContainer(places.home(settings.data), memory_mb=memory, processes=PROCESSES),
        StateClient(settings.node_id, connection).ask,
        outgoing,
        most_workers=min(settings.functions_workers, memory // WORKER_MB),
        site_memory_mb=max(512, memory // SITE_SHARE),
    )
    async with connection.keep_open():
        serving = asyncio.create_task(host.run())
        stopping = asyncio.create_task(stop.wait())
        refreshing = asyncio.create_task(_refresh_platform(settings, outgoing))
        log.info("functions.started", node=settings.node_id)
        try:
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        finally:
            for task in (serving, stopping, refreshing):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            table.close()
    log.info("functions.stopped", node=settings.node_id)


async def _refresh_platform(settings: Settings, outgoing: Outgoing) -> None:
    """Edges and servers may be added while this program runs."""
    while True:
        await asyncio.sleep(REFRESH_SECONDS)
        outgoing.set_platform(await asyncio.to_thread(find_platform_addresses, settings))


def _egress_rules(settings: Settings) -> EgressRules:
    """Public addresses, and networks that the operator allowed. Which hosts, the binding says."""
    return EgressRules(
        networks=read_networks(settings.functions_networks),
        platform=find_platform_addresses(settings),
        platform_networks=read_plain_networks(settings.platform_networks),
    )
