"""The users of the database server for people, one for each environment, beside the user of its site.

A user for people may do in the current schema of the environment what the user of the site may do, and
nothing elsewhere. It is locked, not dropped, when nobody may use it any more: views and triggers that people
have created run with its rights, and the site would fail without them.
"""

from collections.abc import Collection
from pathlib import Path

from stead.mariadb.connection import Connection, StatementFailed, connect
from stead.node.databases.databases import PRIVILEGES, DatabaseLimits, end_connections
from stead.node.databases.names import (
    is_people_account,
    people_account,
    quote_account,
    quote_name,
    quote_pattern,
)
from stead.node.uninterrupted import run_in_thread
from stead.shared.ids import EnvironmentId

LIMITS = DatabaseLimits(connections=10)
_HASH_BYTES = 20
_NO_SUCH_GRANT = 1141


class PeopleAccounts:
    """Every method can be repeated, also after it was interrupted."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def open(self, environment: EnvironmentId, schema: str, double_sha1: bytes) -> None:
        """Make sure that people can use exactly this schema, with exactly the password that has this hash.
        Ends their connections: they began with another password, or in another schema."""
        if len(double_sha1) != _HASH_BYTES:
            raise ValueError("not the hash of a password")
        await run_in_thread(self._open, people_account(environment), schema, f"*{double_sha1.hex().upper()}")

    async def close(self, environment: EnvironmentId) -> None:
        """Nobody can sign in. Succeeds if there is no such user."""
        await run_in_thread(self._close, people_account(environment))

    async def close_all_but(self, environments: Collection[EnvironmentId]) -> None:
        await run_in_thread(self._close_all_but, {people_account(each) for each in environments})

    async def drop_all_but(self, environments: Collection[EnvironmentId]) -> None:
        await run_in_thread(self._drop_all_but, {people_account(each) for each in environments})

    def _open(self, name: str, schema: str, hash_: str) -> None:
        account, pattern = quote_account(name), quote_pattern(schema)
        with connect(self._socket) as connection:
            identified = "IDENTIFIED VIA mysql_native_password USING %s"
            connection.execute(f"CREATE USER IF NOT EXISTS {account} {identified} ACCOUNT LOCK", [hash_])
            _lock(connection, name)
            granted = _list_granted(connection, name)
            for other in granted - {pattern}:
                _revoke(connection, other, account)
            if pattern not in granted:
                # Not again: the schema may be closed for new rows.
                connection.execute(f"GRANT {', '.join(PRIVILEGES)} ON {pattern}.* TO {account}")
            # Unlocked last: whoever can sign in has all the limits.
            connection.execute(
                f"ALTER USER {account} {identified} WITH MAX_USER_CONNECTIONS {LIMITS.connections:d}"
                f" MAX_STATEMENT_TIME {LIMITS.statement_seconds:d} ACCOUNT UNLOCK",
                [hash_],
            )

    def _close(self, name: str) -> None:
        with connect(self._socket) as connection:
            _lock(connection, name)

    def _close_all_but(self, names: Collection[str]) -> None:
        with connect(self._socket) as connection:
            for name in _list_accounts(connection) - set(names):
                _lock(connection, name)

    def _drop_all_but(self, names: Collection[str]) -> None:
        with connect(self._socket) as connection:
            for name in _list_accounts(connection) - set(names):
                _lock(connection, name)
                connection.execute(f"DROP USER IF EXISTS {quote_account(name)}")


def _list_accounts(connection: Connection) -> set[str]:
    rows = connection.execute("SELECT user FROM mysql.global_priv")
    return {str(name) for (name,) in rows if is_people_account(str(name))}


def _lock(connection: Connection, name: str) -> None:
    connection.execute(f"ALTER USER IF EXISTS {quote_account(name)} ACCOUNT LOCK")
    end_connections(connection, name)


def _list_granted(connection: Connection, name: str) -> set[str]:
    """Quoted, as in a statement: what is stored is a pattern already."""
    rows = connection.execute("SELECT db FROM mysql.db WHERE user = %s", [name])
    return {quote_name(str(pattern)) for (pattern,) in rows}


def _revoke(connection: Connection, pattern: str, account: str) -> None:
    try:
        connection.execute(f"REVOKE ALL PRIVILEGES ON {pattern}.* FROM {account}")
    except StatementFailed as error:
        if error.number != _NO_SUCH_GRANT:
            raise
