"""A connection to the server over its socket, as its administrator or as a user of a customer.

The only module that uses PyMySQL.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
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
MAX_READ = 4 << 20
"""What a statement of a customer may return, in bytes; of an exported result, what a row may have."""
TOO_LONG = 1969
_LATE = 0
"""The server did not refuse: nobody waits for the answer any more."""
_TOO_LARGE = 1301
_UNREACHABLE = {_NO_CONNECTION_LEFT, 2002, 2003, 2006, 2013, 1053, 1203}
"""The server does not listen, has ended, is stopping, or has no connection left."""

Value = str | bytes | int | float | None
Row = tuple[Value, ...]
Receive = Callable[[tuple[str, ...], tuple[object, ...]], bool]
"""Called with the names of the columns and a row. Returns whether more are wanted."""


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


class StatementRefused(Exception):
    """The server refused a customer's statement. The message is for the customer who wrote it."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number, self.message = number, message


@dataclass(frozen=True)
class Fetched:
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    more: bool
    """Whether there are more rows than these."""


class BoundedConnection(pymysql.Connection):
    """Reads only so many bytes: a single row can be larger than the memory of this process."""

    left = MAX_READ

    def _read_bytes(self, num_bytes: int) -> bytes:
        self.left -= num_bytes
        if self.left < 0:
            raise pymysql.DataError(_TOO_LARGE, f"The result is larger than {MAX_READ >> 20} MiB.")
        read: bytes = super()._read_bytes(num_bytes)  # type: ignore[misc]
        return read

    def abandon(self) -> None:
        """End it at once. Rows that are left are not read, which the library does when it closes."""
        self._force_close()  # type: ignore[attr-defined]
        if (result := self._result) is not None:  # type: ignore[attr-defined]
            result.unbuffered_active = False


class CustomerConnection:
    """A connection as a user of a customer. Blocks; use it in a thread."""

    def __init__(self, connection: BoundedConnection, seconds: int) -> None:
        self._connection, self._seconds = connection, seconds

    def fetch(
        self, statement: str, values: Sequence[Value], keep: Callable[[tuple[object, ...]], bool]
    ) -> Fetched:
        """Rows, until `keep` refuses one. Values are bound to the `?` of the statement by the server, which
        also accepts one statement only. Nothing can be done with the connection after it."""
        rows: list[tuple[object, ...]] = []

        def receive(_: tuple[str, ...], row: tuple[object, ...]) -> bool:
            is_kept = keep(row)
            if is_kept:
                rows.append(row)
            return is_kept

        columns, more = self._read(statement, values, receive)
        return Fetched(columns, rows, more)

    def pass_on(self, statement: str, values: Sequence[Value], receive: Receive) -> bool:
        """Pass each row on until `receive` returns False. The limit of bytes is that of a row, not of all
        together. Returns whether there are more rows."""

        def receive_and_renew(columns: tuple[str, ...], row: tuple[object, ...]) -> bool:
            self._connection.left = MAX_READ
            return receive(columns, row)

        return self._read(statement, values, receive_and_renew)[1]

    def _read(
        self, statement: str, values: Sequence[Value], receive: Receive
    ) -> tuple[tuple[str, ...], bool]:
        """The names of the columns, and whether there are more rows than those that were received."""
        began = time.monotonic()
        cursor = self._connection.cursor(SSCursor)
        try:
            cursor.execute(*_immediate(statement, values))
            columns = tuple(str(each[0]) for each in cursor.description or ())
            while (row := cursor.fetchone()) is not None:
                if not receive(columns, row):
                    return columns, True
        except (pymysql.MySQLError, OSError) as error:
            raise _translate_for_customer(error) from None
        finally:
            self._connection.abandon()
            cursor.connection = None  # type: ignore[assignment]
        self._require_in_time(began)
        return columns, False

    def change(self, statement: str, values: Sequence[Value], *, commit: bool, until: float = inf) -> int:
        """The number of rows that the statement has changed, or would have changed. After `until` it is not
        committed: nobody waits for the answer any more."""
        began = time.monotonic()
        try:
            self._connection.begin()
            with self._connection.cursor() as cursor:
                changed = cursor.execute(*_immediate(statement, values))
            self._require_in_time(began)
            if time.monotonic() >= until:
                raise StatementRefused(_LATE, "The request took too long, so nothing was changed.")
            if commit:
                self._connection.commit()
            else:
                self._connection.rollback()
        except (pymysql.MySQLError, OSError) as error:
            raise _translate_for_customer(error) from None
        return int(changed)

    def _require_in_time(self, began: float) -> None:
        """The server interrupts SLEEP and BENCHMARK at the limit, but goes on with what they return then."""
        if time.monotonic() - began >= self._seconds:
            raise StatementRefused(TOO_LONG, "The statement took too long.")


def _immediate(statement: str, values: Sequence[Value]) -> tuple[str, tuple[Value, ...]]:
    using = f" USING {', '.join(['%s'] * len(values))}" if values else ""
    return f"EXECUTE IMMEDIATE %s{using}", (statement, *values)


@contextmanager
def connect_as_customer(
    socket: Path, user: str, password: str, schema: str, seconds: int, *, read_only: bool
) -> Iterator[CustomerConnection]:
    """Every statement ends after so many seconds. Raises ServerUnavailable, or StatementRefused if the user
    cannot sign in."""
    # A view of the customer may call a function that writes, with the rights of whoever made it.
    access = ", tx_read_only = 1" if read_only else ""
    try:
        connection = BoundedConnection(
            unix_socket=str(socket),
            ssl_disabled=True,
            user=user,
            password=password,
            database=schema,
            charset="utf8mb4",
            autocommit=False,
            local_infile=False,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=seconds + _CONNECT_SECONDS,
            write_timeout=seconds + _CONNECT_SECONDS,
            init_command=f"SET max_statement_time = {seconds:d}, innodb_lock_wait_timeout = {seconds:d}"
            f"{access}",
        )
    except (pymysql.MySQLError, OSError) as error:
        raise _translate_for_customer(error) from None
    try:
        yield CustomerConnection(connection, seconds)
    finally:
        connection.abandon()


def _translate_for_customer(error: Exception) -> Exception:
    translated = _translate(error)
    if isinstance(translated, StatementFailed):
        text = str(error.args[1]) if len(error.args) > 1 else "the statement failed"
        return StatementRefused(translated.number, text)
    return translated


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
