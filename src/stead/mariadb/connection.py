"""A connection to the server as its administrator, over its socket. The only module that uses PyMySQL."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT
from pymysql.cursors import SSCursor

from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import system_user

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 600.0
"""Dropping a large schema takes long."""
_NO_CONNECTION_LEFT = 1040
_POLL_SECONDS = 0.05
_UNREACHABLE = {_NO_CONNECTION_LEFT, 2002, 2003, 2006, 2013, 1053, 1203}
"""The server does not listen, has ended, is stopping, or has no connection left."""

Value = str | bytes | int | float | None
Row = tuple[Value, ...]


class StatementFailed(Exception):
    """The server refused a statement. The message has its number, and no text, which may quote a secret."""

    def __init__(self, number: int) -> None:
        super().__init__(f"MariaDB refused a statement with error {number}")
        self.number = number


class Connection:
    """Blocks; use it in a thread."""

    def __init__(self, connection: pymysql.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """Values are for `%s`. A `%` in a statement without values is itself."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement, tuple(values) or None)
                return list(cursor.fetchall())
        except (pymysql.MySQLError, OSError) as error:
            raise _translate(error) from None

    def execute_all(self, statements: Sequence[tuple[str, Sequence[Value]]]) -> None:
        """Execute many statements in one round trip. After a statement that fails, none is executed. The
        connection needs `many=True`."""
        if not statements:
            return
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(";".join(cursor.mogrify(text, tuple(values)) for text, values in statements))
                while cursor.nextset():
                    pass
        except (pymysql.MySQLError, OSError) as error:
            raise _translate(error) from None

    def stream(self, statement: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """Yield the rows one by one, without keeping them in memory. The connection can do nothing else
        before the last one."""
        try:
            with self._connection.cursor(SSCursor) as cursor:
                cursor.execute(statement, tuple(values) or None)
                yield from cursor.fetchall_unbuffered()
        except (pymysql.MySQLError, OSError) as error:
            raise _translate(error) from None


@contextmanager
def connect(
    socket: Path, answer_seconds: float = _ANSWER_SECONDS, *, many: bool = False
) -> Iterator[Connection]:
    """Raises ServerUnavailable if there is no server. `many` allows several statements at once."""
    try:
        connection = _open_when_free(socket, answer_seconds, many=many)
    except (pymysql.MySQLError, OSError) as error:
        raise _translate(error) from None
    try:
        yield Connection(connection)
    finally:
        connection.close()


def _open_when_free(socket: Path, answer_seconds: float, *, many: bool) -> pymysql.Connection:
    """When tenants use all connections, the server has one left for its administrator. Another part of the
    node may be using that one: wait for it."""
    ends = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return _open(socket, answer_seconds, many=many)
        except pymysql.OperationalError as error:
            if error.args[:1] != (_NO_CONNECTION_LEFT,) or time.monotonic() > ends:
                raise
            time.sleep(_POLL_SECONDS)


def _open(socket: Path, answer_seconds: float, *, many: bool) -> pymysql.Connection:
    return pymysql.connect(
        unix_socket=str(socket),
        # A socket needs no TLS, and preparing it would take longer than most statements.
        ssl_disabled=True,
        user=system_user(),
        charset="utf8mb4",
        autocommit=True,
        client_flag=CLIENT.MULTI_STATEMENTS if many else 0,
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=answer_seconds,
        write_timeout=answer_seconds,
        # Without NO_AUTO_CREATE_USER, a GRANT to an account that does not exist would make one without a
        # password.
        init_command="SET max_statement_time = 0, sql_mode = 'NO_AUTO_CREATE_USER'",
    )


def answers(socket: Path) -> bool:
    """Whether the server answers a query."""
    try:
        with connect(socket, answer_seconds=_CONNECT_SECONDS) as connection:
            return connection.execute("SELECT 1") == [(1,)]
    except (ServerUnavailable, StatementFailed):
        return False


def _translate(error: Exception) -> Exception:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in _UNREACHABLE or isinstance(error, OSError | pymysql.InterfaceError):
        return ServerUnavailable("MariaDB does not answer")
    return StatementFailed(number)
