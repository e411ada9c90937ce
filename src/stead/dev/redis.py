"""Redis: rate buckets and the freshness marks of credentials."""

import asyncio
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Ports, find_program, output_of


class Redis(Engine):
    name: ClassVar[str] = "redis"
    ports: ClassVar[Ports] = Ports(("redis",))

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def program(self) -> Path:
        return find_program("redis-server", "apt-get install redis-server")

    async def version(self) -> str:
        said = await asyncio.to_thread(output_of, [str(self.program()), "--version"])
        return said.partition("v=")[2].split()[0]

    def argv(self) -> list[str]:
        # Never persisted: a bucket is full again after a minute, and a mark that is missing
        # only means one more look at PostgreSQL. Old marks coming back would be worse than none.
        keep_nothing = ["--save", "", "--appendonly", "no"]
        return [
            str(self.program()),
            *("--bind", LOOPBACK, "--port", str(self.port), "--dir", str(self.place.home)),
            *("--daemonize", "no", "--loglevel", "notice"),
            *keep_nothing,
        ]

    async def ready(self) -> bool:
        return await probe.line(self.port, b"PING\r\n") == b"+PONG\r\n"
