"""The schema and the user of each dataset of an environment. Most environments have one dataset, `""`.

| State | Schema | User |
|---|---|---|
| `create` | exists | may use its schema, and nothing else |
| `keep` | exists, with every row | cannot sign in, and is not connected |
| `drop` | does not exist | does not exist |

Every function can be repeated, also after it was interrupted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stead.mariadb.connection import Connection, StatementFailed, connect
from stead.node.databases.names import (
    is_people_account,
    is_reader_account,
    is_schema_name,
    quote_account,
    quote_name,
    quote_pattern,
    reader_account,
    schema_name,
    split_schema_name,
)
from stead.node.uninterrupted import run_in_thread
from stead.shared.ids import EnvironmentId

T = TypeVar("T")

PRIVILEGES = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER"),
    *("CREATE TEMPORARY TABLES", "LOCK TABLES", "CREATE VIEW", "SHOW VIEW", "TRIGGER"),
)
"""What a user may do in its schema. Without routines and events, which are code that moves with the data."""

_UNKNOWN_THREAD = 1094


@dataclass(frozen=True)
class DatabaseLimits:
    connections: int = 20
    statement_seconds: int = 60


@dataclass(frozen=True)
class DatabaseUsage:
    environment: EnvironmentId
    tables: int
    bytes: int
    kept: bool
    """Whether its user cannot sign in, because the environment was deleted and may be recovered."""
    dataset: str = ""


class Databases:
    def __init__(self, socket: Path) -> None:
        self.socket = socket

    async def create(
        self,
        environment: EnvironmentId,
        password: str,
        limits: DatabaseLimits | None = None,
        dataset: str = "",
    ) -> str:
        """Make sure that the schema and its user exist, with this password and these limits, and return
        the name of both. Also opens a kept database again."""
        name, allowed = schema_name(environment, dataset), limits or DatabaseLimits()
        await self._run(lambda connection: _create(connection, name, password, allowed))
        return name

    async def exists(self, environment: EnvironmentId, dataset: str = "") -> bool:
        name = schema_name(environment, dataset)
        return await self._run(lambda connection: bool(_count_schemas(connection, name)))

    async def keep(self, environment: EnvironmentId, dataset: str = "") -> None:
        """Close the database and keep its rows, so that `create` can open it again."""
        name = schema_name(environment, dataset)
        await self._run(lambda connection: _keep(connection, name))

    async def drop(self, environment: EnvironmentId, dataset: str = "") -> None:
        """Remove the user and every row."""
        name = schema_name(environment, dataset)
        await self._run(lambda connection: _drop(connection, name))

    async def list_datasets(self, environment: EnvironmentId) -> list[str]:
        """All that have a schema or a user."""
        return await self._run(lambda connection: _list_datasets(connection, environment))

    async def measure(self, environment: EnvironmentId, dataset: str = "") -> int:
        """The bytes of its tables and indexes."""
        name = schema_name(environment, dataset)
        return await self._run(lambda connection: _measure(connection, name))

    async def list_usage(self) -> list[DatabaseUsage]:
        """The databases of all datasets, with the disk space of their tables."""
        return await self._run(_list_usage)

    async def end_overlong_work(self, statement_seconds: int = 90, transaction_seconds: int = 90) -> int:
        """End connections of environments whose statement takes too long, or which keep a transaction open
        and do nothing; return how many. The limits of an account do the same, but a customer can turn those
        off for a session. Call it every few seconds."""
        return await self._run(
            lambda connection: _end_overlong_work(connection, statement_seconds, transaction_seconds)
        )

    async def _run(self, work: Callable[[Connection], T]) -> T:
        return await run_in_thread(self._call, work)

    def _call(self, work: Callable[[Connection], T]) -> T:
        with connect(self.socket) as connection:
            return work(connection)


def _create(connection: Connection, name: str, password: str, limits: DatabaseLimits) -> None:
    account = quote_account(name)
    connection.execute(f"CREATE DATABASE IF NOT EXISTS {quote_name(name)}")
    connection.execute(f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY %s ACCOUNT LOCK", [password])
    connection.execute(
        f"GRANT {', '.join(PRIVILEGES)} ON {quote_pattern(name)}.* TO {account}",
    )
    # Unlocked last: whoever can sign in has all the limits.
    connection.execute(
        f"ALTER USER {account} IDENTIFIED BY %s WITH MAX_USER_CONNECTIONS {limits.connections:d}"
        f" MAX_STATEMENT_TIME {limits.statement_seconds:d} ACCOUNT UNLOCK",
        [password],
    )


def _keep(connection: Connection, name: str) -> None:
    for user in (name, reader_account(name)):
        connection.execute(f"ALTER USER IF EXISTS {quote_account(user)} ACCOUNT LOCK")
        end_connections(connection, user)


def _drop(connection: Connection, name: str) -> None:
    _keep(connection, name)
    for user in (name, reader_account(name)):
        connection.execute(f"DROP USER IF EXISTS {quote_account(user)}")
    connection.execute(f"DROP DATABASE IF EXISTS {quote_name(name)}")


def _count_schemas(connection: Connection, name: str) -> int:
    return len(
        connection.execute(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = %s", [name]
        )
    )


def end_connections(connection: Connection, name: str) -> None:
    """End all connections of the user."""
    for (number,) in connection.execute(
        "SELECT id FROM information_schema.processlist WHERE user = %s", [name]
    ):
        _kill(connection, number)


def _kill(connection: Connection, number: object) -> bool:
    try:
        connection.execute(f"KILL CONNECTION {int(str(number)):d}")
    except StatementFailed as error:
        if error.number != _UNKNOWN_THREAD:
            raise
        return False
    return True


def _list_usage(connection: Connection) -> list[DatabaseUsage]:
    locked = {
        str(user)
        for (user,) in connection.execute(
            "SELECT user FROM mysql.global_priv WHERE JSON_VALUE(priv, '$.account_locked')"
        )
    }
    rows = connection.execute(
        "SELECT s.schema_name, COUNT(t.table_name),"
        " CAST(COALESCE(SUM(t.data_length + t.index_length + t.data_free), 0) AS INTEGER)"
        " FROM information_schema.schemata s"
        " LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name"
        " GROUP BY s.schema_name ORDER BY s.schema_name"
    )
    return [
        DatabaseUsage(found[0], int(tables or 0), int(size or 0), str(name) in locked, found[1])
        for name, tables, size in rows
        if (found := split_schema_name(str(name)))
    ]


def _list_datasets(connection: Connection, environment: EnvironmentId) -> list[str]:
    names = connection.execute(
        "SELECT schema_name FROM information_schema.schemata UNION SELECT user FROM mysql.global_priv"
    )
    found = (split_schema_name(str(name)) for (name,) in names)
    return sorted(each[1] for each in found if each and each[0] == environment)


def _measure(connection: Connection, name: str) -> int:
    (row,) = connection.execute(
        "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS INTEGER)"
        " FROM information_schema.tables WHERE table_schema = %s",
        [name],
    )
    return int(row[0] or 0)


def _is_customer(user: str) -> bool:
    return is_schema_name(user) or is_people_account(user) or is_reader_account(user)


def _end_overlong_work(connection: Connection, statement_seconds: int, transaction_seconds: int) -> int:
    statements = connection.execute(
        "SELECT id, user FROM information_schema.processlist"
        " WHERE command NOT IN ('Sleep', 'Daemon', 'Connect') AND time_ms > %s",
        [statement_seconds * 1000],
    )
    transactions = connection.execute(
        "SELECT p.id, p.user FROM information_schema.innodb_trx t"
        " JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id"
        " WHERE p.command = 'Sleep' AND p.time_ms > %s",
        [transaction_seconds * 1000],
    )
    # The time above begins again with every statement of a trigger.
    triggers = connection.execute(
        "SELECT p.id, p.user FROM information_schema.innodb_trx t"
        " JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id"
        " WHERE p.command <> 'Sleep' AND t.trx_started < NOW() - INTERVAL %s SECOND",
        [statement_seconds + transaction_seconds],
    )
    found = (*statements, *transactions, *triggers)
    overlong = {number for number, user in found if _is_customer(str(user))}
    return sum(_kill(connection, number) for number in overlong)
