"""MariaDB: the databases of the sites on this machine's node, as nodes run it."""

import asyncio
import signal
from pathlib import Path
from typing import ClassVar

from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.errors import DevError
from stead.dev.packages import Packages
from stead.mariadb import connection, data_directory
from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import ServerSettings, argv
from stead.protocol.subjects import Node

# Debian installs the server into a directory that is only in root's PATH.
INSTALLED = Path("/usr/sbin/mariadbd")


class MariaDb(Engine):
    name: ClassVar[str] = "mariadb"
    packages: ClassVar[Packages] = Packages(debian=("mariadb-server", "libnginx-mod-stream"))
    required_by: ClassVar[tuple[str, ...]] = ("node",)
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    stop_timeout: ClassVar[float] = 30.0
    documentation: ClassVar[Documentation] = Documentation(
        title="MariaDB on a node",
        purpose="databases of WordPress sites",
        product="MariaDB ≥ 10.6.1",
        reason="what WordPress is written for; renaming tables is atomic and survives a crash since 10.6.1",
        production="the same, on every node with WordPress sites; the agent runs it (decision 0030)",
        development="Debian `mariadb-server` and `libnginx-mod-stream`; a private server, only on its socket",
        when_down="pages in the cache, static sites, and the sites of other nodes; the agent starts it again",
    )

    @property
    def settings(self) -> ServerSettings:
        return ServerSettings(self.instance.home, buffer_pool_mb=64, durable=self.instance.durable)

    @property
    def user(self) -> str | None:
        return self.settings.user or None

    @property
    def socket(self) -> Path:
        return self.settings.socket

    def node_settings(self, node: Node) -> dict[str, str]:
        del node
        return {"STEAD_MARIADB_SOCKET": str(self.socket)}

    def find_executable(self) -> Path:
        return INSTALLED if INSTALLED.exists() else self.locate("mariadbd")

    async def read_version(self) -> str:
        words = (await read_output([str(self.find_executable()), "--version"])).split()
        return words[words.index("Ver") + 1].partition("-")[0]

    async def prepare(self) -> None:
        await super().prepare()
        try:
            await asyncio.to_thread(data_directory.prepare, self.settings)
        except ServerUnavailable as error:
            raise DevError(str(error)) from None

    def command(self) -> list[str]:
        return argv(self.settings, str(self.find_executable()))

    async def is_ready(self) -> bool:
        return await asyncio.to_thread(connection.answers, self.socket)
