"""PostgreSQL: the database of the control plane, in a private cluster."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import asyncpg

from stead.dev.engine import Documentation, Engine, read_output
from stead.dev.errors import DevError, ProgramMissing
from stead.dev.packages import Packages
from stead.dev.secrets import Generator, random_password
from stead.dev.subprocesses import run
from stead.dev.supervised_program import LOOPBACK, Ports
from stead.protocol.subjects import Program

SYSTEM_USER = "postgres"
SUPERUSER = "postgres"
ROLE = "stead"
DATABASE = "stead"
INSTALLED = Path("/usr/lib/postgresql")

ACCESS_RULES = f"host all all {LOOPBACK}/32 scram-sha-256\n"
UNSAFE_BUT_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""For data that may be lost with the process, such as that of tests."""


class Postgres(Engine):
    name: ClassVar[str] = "postgres"
    core: ClassVar[bool] = True
    packages: ClassVar[Packages] = Packages(debian=("postgresql-15",))
    ports: ClassVar[Ports] = Ports(("postgres",))
    secrets: ClassVar[Mapping[str, Generator]] = {
        "postgres_superuser": random_password,
        "postgres": random_password,
    }
    required_by: ClassVar[tuple[str, ...]] = ("api", "worker")
    # SIGINT is PostgreSQL's fast shutdown. SIGTERM would wait until every client disconnects.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    stop_timeout: ClassVar[float] = 20.0
    documentation: ClassVar[Documentation] = Documentation(
        title="PostgreSQL",
        purpose="database of the control plane",
        product="PostgreSQL ≥ 15",
        reason="transactions: related changes are committed together",
        production="HA cluster, PgBouncer, read replicas",
        development="Debian `postgresql-15`; a private cluster with SCRAM passwords and no Unix socket",
        when_down="sites; the API answers 503 `unavailable` in the error envelope, and recovers by itself",
    )

    @property
    def user(self) -> str | None:
        """PostgreSQL refuses to run as root."""
        return SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        return self.database_url(DATABASE)

    def database_url(self, name: str) -> str:
        return f"postgresql://{ROLE}:{self.instance.secrets['postgres']}@{LOOPBACK}:{self.port}/{name}"

    def control_settings(self, program: Program) -> dict[str, str]:
        del program
        return {"STEAD_DATABASE_URL": self.url}

    def find_executable(self) -> Path:
        return self._find("postgres")

    def _find(self, executable: str) -> Path:
        versions = [folder for folder in INSTALLED.glob("*/bin") if folder.parent.name.isdecimal()]
        for folder in sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True):
            if (folder / executable).exists():
                return folder / executable
        found = shutil.which(executable)
        if found is None:
            raise ProgramMissing(executable, self.packages)
        return Path(found)

    async def read_version(self) -> str:
        return (await read_output([str(self.find_executable()), "--version"])).split()[2]

    @property
    def _cluster(self) -> Path:
        return self.instance.home / "cluster"

    async def prepare(self) -> None:
        await super().prepare()
        if not self._cluster.exists():
            await self._create_cluster()

    async def _create_cluster(self) -> None:
        # Renamed when it is complete, so that an interrupted start does not leave an incomplete cluster.
        incomplete = self.instance.home / "cluster.new"
        shutil.rmtree(incomplete, ignore_errors=True)
        options = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", f"--username={SUPERUSER}"]
        durability = [] if self.instance.durable else ["--no-sync"]
        await self._run([str(self._find("initdb")), f"--pgdata={incomplete}", *options, *durability])
        # The server has not listened yet, so no connection without a password was ever possible.
        (incomplete / "pg_hba.conf").write_text(ACCESS_RULES)
        single_user = [str(self.find_executable()), "--single", "-D", str(incomplete), "postgres"]
        await self._run(single_user, self._first_statements())
        incomplete.rename(self._cluster)

    def _first_statements(self) -> str:
        secrets = self.instance.secrets
        return (
            f"ALTER ROLE {SUPERUSER} PASSWORD '{secrets['postgres_superuser']}'\n"
            f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{secrets['postgres']}'\n"
            f"CREATE DATABASE {DATABASE} OWNER {ROLE}\n"
        )

    async def _run(self, command: list[str], stdin: str = "") -> None:
        completed = await run(command, stdin=stdin, user=self.user, cwd=self.instance.home)
        if completed.code != 0:
            raise DevError(f"{Path(command[0]).name} failed: {completed.errors.strip()}")

    def command(self) -> list[str]:
        options = [
            *(f"listen_addresses={LOOPBACK}", f"port={self.port}", "unix_socket_directories="),
            *("max_connections=200", "log_min_messages=warning", "timezone=UTC"),
            *(() if self.instance.durable else UNSAFE_BUT_FAST),
        ]
        return [
            *(str(self.find_executable()), "-D", str(self._cluster)),
            *(f"--{option}" for option in options),
        ]

    async def is_ready(self) -> bool:
        try:
            async with asyncio.timeout(5):
                connection = await asyncpg.connect(self.url)
                await connection.close()
        except (OSError, TimeoutError, asyncpg.PostgresError):
            return False
        return True

    async def create_database(self, name: str) -> str:
        return await self.clone_database("template1", name)

    async def clone_database(self, template: str, name: str) -> str:
        """Copies a database and returns the URL of the copy. No client may be connected to the template."""
        await self._execute(f"CREATE DATABASE {_quote(name)} TEMPLATE {_quote(template)}")
        return self.database_url(name)

    async def drop_database(self, name: str) -> None:
        await self._execute(f"DROP DATABASE IF EXISTS {_quote(name)} WITH (FORCE)")

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.database_url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
