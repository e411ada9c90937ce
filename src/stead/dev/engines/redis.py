"""Redis: rate limit buckets and the freshness marks of credentials."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.files import write_private
from stead.dev.packages import Packages
from stead.dev.secrets import Generator, random_password
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program


class Redis(Engine):
    name: ClassVar[str] = "redis"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(debian=("redis-server",))
    ports: ClassVar[Ports] = Ports(("redis",))
    secrets: ClassVar[Mapping[str, Generator]] = {"redis_password": random_password}
    required_by: ClassVar[tuple[str, ...]] = ("api", "worker")
    documentation: ClassVar[Documentation] = Documentation(
        title="Redis",
        purpose="rate limit buckets, credential freshness",
        product="Redis ≥ 7 or Valkey",
        reason="one Lua round trip per request",
        production="one primary behind one address, also a managed one; no persistence. Not Redis Cluster:"
        " the keys of a request are in several slots",
        development="Debian `redis-server`; nothing is kept on disk",
        when_down="everything; rate limits of credentials are not enforced meanwhile, those of sign-in,"
        " sign-up and hooks are counted by each process, and every request reads its credential from"
        " PostgreSQL",
    )

    @property
    def password(self) -> str:
        return self.instance.secrets["redis_password"]

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    def control_settings(self, program: Program) -> dict[str, str]:
        del program
        return {"STEAD_REDIS_URL": self.url}

    def find_executable(self) -> Path:
        return self.locate("redis-server")

    async def read_version(self) -> str:
        output = await read_output([str(self.find_executable()), "--version"])
        return output.partition("v=")[2].split()[0]

    @property
    def _config_file(self) -> Path:
        return self.instance.home / "redis.conf"

    async def prepare(self) -> None:
        await super().prepare()
        # In a file, because every user of the machine can read command lines.
        write_private(self._config_file, f"requirepass {self.password}\n".encode())

    def command(self) -> list[str]:
        # Nothing is persisted: a bucket is full again after a minute, and a missing freshness mark costs one
        # query. Old marks that come back after a restart would be wrong, which is worse.
        no_persistence = ["--save", "", "--appendonly", "no"]
        return [
            *(str(self.find_executable()), str(self._config_file)),
            *("--bind", LOOPBACK, "--port", str(self.port), "--dir", str(self.instance.home)),
            *("--daemonize", "no", "--loglevel", "notice"),
            *no_persistence,
        ]

    async def is_ready(self) -> bool:
        async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
            writer.write(f"AUTH {self.password}\r\nPING\r\n".encode())
            await reader.readline()
            return await reader.readline()

        return await probes.connect(self.port, exchange) == b"+PONG\r\n"
