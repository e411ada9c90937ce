"""PostgreSQL: the truth. A private cluster whose superuser and application role are different people."""

import asyncio
import os
import pwd
import shutil
import signal
from pathlib import Path
from typing import ClassVar

import asyncpg

from stead.dev.engine import LOOPBACK, DevError, Engine, Ports, ProgramMissing, output_of
from stead.dev.process import run

SYSTEM_USER = "postgres"
SUPERUSER = "postgres"
ROLE = "stead"
DATABASE = "stead"
INSTALLED = Path("/usr/lib/postgresql")

ACCESS = f"host all all {LOOPBACK}/32 scram-sha-256\n"
CARELESS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""Only for data that may be lost with the process: a test's."""


class Postgres(Engine):
    name: ClassVar[str] = "postgres"
    ports: ClassVar[Ports] = Ports(("postgres",))
    # Fast shutdown; SIGTERM would wait for every client to leave by itself.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    patience: ClassVar[float] = 20.0

    @property
    def user(self) -> str | None:
        """It refuses to run as root."""
        return SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        return self.database_url(DATABASE)

    def database_url(self, name: str) -> str:
        return f"postgresql://{ROLE}:{self.place.secrets.postgres}@{LOOPBACK}:{self.port}/{name}"

    def program(self) -> Path:
        return self._tool("postgres")

    def _tool(self, name: str) -> Path:
        numbered = [folder for folder in INSTALLED.glob("*/bin") if folder.parent.name.isdecimal()]
        for folder in sorted(numbered, key=lambda folder: int(folder.parent.name), reverse=True):
            if (folder / name).exists():
                return folder / name
        found = shutil.which(name)
        if found is None:
            raise ProgramMissing(name, "apt-get install postgresql")
        return Path(found)

    async def version(self) -> str:
        said = await asyncio.to_thread(output_of, [str(self.program()), "--version"])
        return said.split()[2]

    @property
    def _cluster(self) -> Path:
        return self.place.home / "cluster"

    async def prepare(self) -> None:
        await super().prepare()
        if self.user is not None:
            shutil.chown(self.place.home, self.user, pwd.getpwnam(self.user).pw_gid)
            await self._require_a_way_in(self.user)
        if not self._cluster.exists():
            await self._make_cluster()

    async def _require_a_way_in(self, user: str) -> None:
        tried = await run(["/usr/bin/test", "-x", str(self.place.home)], user=user)
        if tried.code != 0:
            raise DevError(
                f"PostgreSQL runs as the user {user}, who cannot enter {self.place.home}: "
                "choose another directory with --data, one whose parents everyone may enter"
            )

    async def _make_cluster(self) -> None:
        # Under another name until it is complete: an interrupted start must not leave half a cluster.
        fresh = self.place.home / "cluster.new"
        shutil.rmtree(fresh, ignore_errors=True)
        options = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", f"--username={SUPERUSER}"]
        durability = [] if self.place.durable else ["--no-sync"]
        await self._run([str(self._tool("initdb")), f"--pgdata={fresh}", *options, *durability])
        # Nobody has connected yet, and nobody ever will without a password.
        (fresh / "pg_hba.conf").write_text(ACCESS)
        await self._run(
            [str(self.program()), "--single", "-D", str(fresh), "postgres"], self._first_statements()
        )
        fresh.rename(self._cluster)

    def _first_statements(self) -> str:
        secrets = self.place.secrets
        return (
            f"ALTER ROLE {SUPERUSER} PASSWORD '{secrets.postgres_superuser}'\n"
            f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{secrets.postgres}'\n"
            f"CREATE DATABASE {DATABASE} OWNER {ROLE}\n"
        )

    async def _run(self, argv: list[str], said: str = "") -> None:
        done = await run(argv, said=said, user=self.user, cwd=self.place.home)
        if done.code != 0:
            raise DevError(f"{Path(argv[0]).name} failed: {done.errors.strip()}")

    def argv(self) -> list[str]:
        settings = [
            *(f"listen_addresses={LOOPBACK}", f"port={self.port}", "unix_socket_directories="),
            *("max_connections=200", "log_min_messages=warning", "timezone=UTC"),
            *(() if self.place.durable else CARELESS),
        ]
        return [str(self.program()), "-D", str(self._cluster), *(f"--{setting}" for setting in settings)]

    async def ready(self) -> bool:
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
        """The address of a copy of the template, to which nobody may be connected meanwhile."""
        await self._execute(f"CREATE DATABASE {_quoted(name)} TEMPLATE {_quoted(template)}")
        return self.database_url(name)

    async def drop_database(self, name: str) -> None:
        await self._execute(f"DROP DATABASE IF EXISTS {_quoted(name)} WITH (FORCE)")

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.database_url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
