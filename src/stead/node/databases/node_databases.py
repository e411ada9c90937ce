"""The databases of a node, as the agent runs them."""

import asyncio
import time
from pathlib import Path

import structlog

from stead.mariadb.connection import StatementFailed, answers
from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import ServerSettings
from stead.node.databases.databases import Databases
from stead.node.databases.gate import DatabaseGate, find_nginx
from stead.node.databases.server import DatabaseServer
from stead.node.settings import Settings
from stead.node.uninterrupted import run_in_thread

WATCH_SECONDS = 5.0
READY_SECONDS = 60.0
_POLL_SECONDS = 0.1

log = structlog.get_logger()


class NodeDatabases:
    """`server` is None if somebody else runs it, as `steadctl dev` does. Without a `gate`, environments use
    the socket of the server itself."""

    def __init__(
        self, databases: Databases, server: DatabaseServer | None, gate: DatabaseGate | None = None
    ) -> None:
        self.databases, self.server, self.gate = databases, server, gate
        self._needed = asyncio.Event()

    def need(self) -> None:
        """Let `run` start the server. A node without databases does not run one."""
        self._needed.set()

    async def run(self) -> None:
        """Keep the server running, and end work of customers that takes too long. Never returns; the server
        runs on when this is cancelled."""
        await self._needed.wait()
        async with asyncio.TaskGroup() as tasks:
            if self.server is not None:
                tasks.create_task(self.server.keep_running())
            if self.gate is not None:
                tasks.create_task(self.gate.keep_running())
            tasks.create_task(self._watch())

    async def wait_until_ready(self, seconds: float = READY_SECONDS) -> None:
        """Return when the server answers; `run` starts it. Raises ServerUnavailable."""
        self.need()
        until = time.monotonic() + seconds
        while not await run_in_thread(answers, self.databases.socket):
            if time.monotonic() > until:
                raise ServerUnavailable("MariaDB does not answer")
            await asyncio.sleep(_POLL_SECONDS)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                if ended := await self.databases.end_overlong_work():
                    log.warning("databases.overlong_work_ended", connections=ended)
            except (ServerUnavailable, StatementFailed) as error:
                log.warning("databases.not_watched", reason=str(error))


def node_databases(settings: Settings) -> NodeDatabases:
    if settings.mariadb_socket:
        socket = Path(settings.mariadb_socket)
        return NodeDatabases(Databases(socket), None, make_gate(settings.data, socket))
    server = DatabaseServer(ServerSettings(settings.data / "mariadb"))
    return NodeDatabases(Databases(server.socket), server, make_gate(settings.data, server.socket))


def make_gate(data: Path, socket: Path) -> DatabaseGate | None:
    nginx = find_nginx()
    if nginx is None:
        log.warning("databases.connections_unlimited", reason="libnginx-mod-stream is not installed")
        return None
    return DatabaseGate(data / "hosting" / "gate", socket, nginx)
