"""A real server, and connections of customers."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from stead.mariadb.server_settings import ServerSettings
from stead.node.databases.databases import DatabaseLimits, Databases
from stead.node.databases.server import DatabaseServer
from stead.shared.ids import EnvironmentId, new_id


class Tenant:
    """The owner of one environment, with its name and password."""

    def __init__(self, socket: Path, environment: EnvironmentId, password: str) -> None:
        self.socket, self.environment, self.password = socket, environment, password

    def connect(self, **options: Any) -> "pymysql.Connection[Any]":
        return pymysql.connect(
            unix_socket=str(self.socket),
            user=self.environment,
            password=self.password.encode(),
            database=options.pop("database", self.environment),
            autocommit=True,
            local_infile=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            **options,
        )

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


@dataclass(frozen=True)
class DatabaseHarness:
    server: DatabaseServer

    @property
    def databases(self) -> Databases:
        return Databases(self.server.socket)

    async def tenant(self, limits: DatabaseLimits | None = None) -> Tenant:
        environment, password = EnvironmentId(new_id("env")), token_hex(16)
        await self.databases.create(environment, password, limits)
        return Tenant(self.server.socket, environment, password)


@contextmanager
def running_server(home: Path | None = None, **settings: Any) -> Iterator[DatabaseHarness]:
    directory = Path(tempfile.mkdtemp(prefix="stead-db-"))
    # The server runs as another user.
    directory.chmod(0o711)
    server = DatabaseServer(ServerSettings(home or directory / "mariadb", **settings))
    try:
        asyncio.run(server.start())
        yield DatabaseHarness(server)
    finally:
        asyncio.run(server.stop())
        shutil.rmtree(directory)
