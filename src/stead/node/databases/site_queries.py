"""Statements that customers send to the database of their environment through the API.

Reading statements run as a user that can only read in this one schema. Changes run as the user of the site,
in a transaction that is rolled back unless they are confirmed.
"""

import asyncio
import gzip
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from datetime import time as clock_time
from io import BufferedWriter
from math import inf
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from stead.mariadb.connection import (
    TOO_LONG,
    CustomerConnection,
    Fetched,
    StatementRefused,
    Value,
    connect,
    connect_as_customer,
)
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.databases.names import quote_account, quote_pattern, reader_account
from stead.node.databases.statements import NotAllowed, require_reading, require_writing
from stead.node.drivers.driver import Refusal
from stead.node.uninterrupted import run_in_pool
from stead.protocol.questions import FAILED, REFUSED, UNSUPPORTED

SECONDS = 10
MAX_ROWS = 1000
MAX_BYTES = 512 << 10
MAX_TABLES = 2000
AT_ONCE = 2
EXPORT_FAILED = "database.export_failed"
EXPORT_SECONDS = 300
MAX_RESULT = 1 << 30
"""Of a result that is exported, in bytes, before it is compressed."""
_CANNOT_SIGN_IN = {1044, 1045, 4151}
_READER_CONNECTIONS = 4
_LONG = ThreadPoolExecutor(max_workers=4, thread_name_prefix="exported-queries")
_THREADS = ThreadPoolExecutor(max_workers=128, thread_name_prefix="queries")

_TABLES = (
    "SELECT table_name, COALESCE(table_rows, 0), CAST(COALESCE(data_length + index_length, 0) AS INTEGER)"
    " FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE'"
    " ORDER BY table_name LIMIT ?"
)
_OTHER_ENGINES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
    " AND table_type = 'BASE TABLE' AND engine <> 'InnoDB' LIMIT 1"
)

T = TypeVar("T")
Scalar = str | int | float | bool | None


class Statement(Struct, frozen=True):
    query: Annotated[str, Meta(min_length=1, max_length=100_000)]
    params: Annotated[list[Scalar], Meta(max_length=100)] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS)] = 100
    confirm: bool = False


class SiteQueries:
    """`socket` is that of MariaDB."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._passwords: dict[str, str] = {}
        """Of the users that only read. They are valid as long as this process."""
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))

    async def answer(self, kind: str, body: bytes, schema: str, password: str, until: float = inf) -> bytes:
        """`password` is that of the user of the site. Nothing is changed after `until`, on the monotonic
        clock. Raises Refusal."""
        handle = {"database.get": self._describe, "database.query": self._query}.get(kind)
        async with self._places[schema]:
            try:
                if handle is not None:
                    return await run_in_pool(_THREADS, handle, schema, body)
                if kind == "database.execute":
                    return await run_in_pool(_THREADS, self._execute, schema, body, password, until)
            except (NotAllowed, msgspec.ValidationError) as refused:
                raise Refusal(REFUSED, str(refused)) from None
            except StatementRefused as refused:
                raise Refusal(REFUSED, _explain(refused)) from None
            except ServerUnavailable:
                raise Refusal(FAILED, "the database of the site does not answer") from None
        raise Refusal(UNSUPPORTED, "the question is not known")

    def _describe(self, schema: str, _: bytes) -> bytes:
        """The tables as the reader sees them: the server ends its statements in time, however many tables
        there are, and goes on with those of the administrator."""
        with connect(self._socket, SECONDS) as connection:
            ((version,),) = connection.execute("SELECT VERSION()")
        try:
            rows = self._list(schema, _TABLES, schema, MAX_TABLES)
        except StatementRefused:
            raise Refusal(FAILED, "the tables of the database cannot be listed in time") from None
        tables = [{"name": name, "rows": count, "size_bytes": size} for name, count, size in rows]
        total = sum(int(str(size or 0)) for _, _, size in rows)
        made = {"engine": "mariadb", "version": version, "size_bytes": total, "tables": tables}
        return msgspec.json.encode(made)

    def _require_transactional(self, schema: str) -> None:
        if others := self._list(schema, _OTHER_ENGINES, schema):
            raise NotAllowed(
                f"The table {others[0][0]!s} is not InnoDB, so a change could not be taken back."
            )

    def _list(self, schema: str, statement: str, *values: str | int) -> list[tuple[object, ...]]:
        return self._as_reader(
            schema, lambda connection: connection.fetch(statement, values, lambda _: True)
        ).rows

    def _query(self, schema: str, body: bytes) -> bytes:
        wanted = msgspec.json.decode(body, type=Statement)
        require_reading(wanted.query)
        budget = _RowBudget(wanted.limit)
        found = self._as_reader(
            schema, lambda connection: connection.fetch(wanted.query, wanted.params, budget.keep)
        )
        return msgspec.json.encode(_show(found))

    async def write_result(self, statement: bytes, schema: str, file: Path, *, compress: bool) -> None:
        """Write the rows of a reading statement to a file, each as a line of JSON. Raises Refusal."""
        async with self._places[schema]:
            try:
                await run_in_pool(_LONG, self._write_result, statement, schema, file, compress)
            except (NotAllowed, msgspec.ValidationError) as refused:
                raise Refusal(EXPORT_FAILED, str(refused)) from None
            except StatementRefused as refused:
                raise Refusal(EXPORT_FAILED, _explain(refused, EXPORT_SECONDS)) from None
            except ServerUnavailable:
                raise Refusal(EXPORT_FAILED, "the database of the site does not answer") from None

    def _write_result(self, statement: bytes, schema: str, file: Path, compress: bool) -> None:
        wanted = msgspec.json.decode(statement, type=Statement)
        require_reading(wanted.query)

        def write(connection: CustomerConnection) -> bool:
            with gzip.open(file, "wb", compresslevel=6) if compress else file.open("wb") as lines:
                return connection.pass_on(wanted.query, wanted.params, _LineWriter(lines).receive)

        if self._as_reader(schema, write, EXPORT_SECONDS):
            raise NotAllowed(f"The result is larger than {MAX_RESULT >> 20} MiB.")

    def pass_on(
        self, schema: str, statement: str, receive: Callable[[tuple[object, ...]], bool], seconds: int
    ) -> None:
        """Pass the rows of a statement of the node on until `receive` returns False, as the user that can
        only read in this schema. Blocks. Raises StatementRefused and ServerUnavailable."""
        self._as_reader(
            schema,
            lambda connection: connection.pass_on(statement, (), lambda _, row: receive(row)),
            seconds,
        )

    def _execute(self, schema: str, body: bytes, password: str, until: float) -> bytes:
        wanted = msgspec.json.decode(body, type=Statement)
        require_writing(wanted.query)
        self._require_transactional(schema)
        with connect_as_customer(
            *(self._socket, schema, password, schema, SECONDS), read_only=False
        ) as connection:
            changed = connection.change(wanted.query, wanted.params, commit=wanted.confirm, until=until)
        return msgspec.json.encode({"affected_rows": changed, "applied": wanted.confirm})

    def _as_reader(self, schema: str, work: Callable[[CustomerConnection], T], seconds: int = SECONDS) -> T:
        """The user may have been locked or removed since it was opened."""
        is_known = schema in self._passwords
        if not is_known:
            self._open_reader(schema)
        try:
            return self._read(schema, work, seconds)
        except StatementRefused as refused:
            if refused.number not in _CANNOT_SIGN_IN or not is_known:
                raise
        self._open_reader(schema)
        return self._read(schema, work, seconds)

    def _read(self, schema: str, work: Callable[[CustomerConnection], T], seconds: int) -> T:
        user, password = reader_account(schema), self._passwords[schema]
        with connect_as_customer(self._socket, user, password, schema, seconds, read_only=True) as opened:
            return work(opened)

    def _open_reader(self, schema: str) -> None:
        account, password = quote_account(reader_account(schema)), secrets.token_urlsafe(32)
        with connect(self._socket, SECONDS) as connection:
            connection.execute(
                f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY %s ACCOUNT LOCK", [password]
            )
            connection.execute(f"GRANT SELECT, SHOW VIEW ON {quote_pattern(schema)}.* TO {account}")
            connection.execute(
                f"ALTER USER {account} IDENTIFIED BY %s WITH MAX_USER_CONNECTIONS {_READER_CONNECTIONS:d}"
                f" MAX_STATEMENT_TIME {SECONDS:d} ACCOUNT UNLOCK",
                [password],
            )
        self._passwords[schema] = password


class _LineWriter:
    """Writes rows as lines of JSON, up to a number of bytes."""

    def __init__(self, lines: gzip.GzipFile | BufferedWriter) -> None:
        self._lines, self._left = lines, MAX_RESULT
        self._names: list[str] = []

    def receive(self, columns: tuple[str, ...], row: tuple[object, ...]) -> bool:
        self._names = self._names or _unique(columns)
        line = msgspec.json.encode(dict(zip(self._names, map(_plain, row), strict=True)))
        self._left -= len(line) + 1
        if self._left < 0:
            return False
        self._lines.write(line + b"\n")
        return True


class _RowBudget:
    def __init__(self, rows: int) -> None:
        self._rows, self._bytes = rows, MAX_BYTES

    def keep(self, row: tuple[object, ...]) -> bool:
        self._rows -= 1
        self._bytes -= sum(len(str(each)) * 2 + 20 for each in row)
        return self._rows >= 0 and self._bytes >= 0


def _show(found: Fetched) -> Mapping[str, object]:
    columns = _unique(found.columns)
    rows = [dict(zip(columns, map(_plain, row), strict=True)) for row in found.rows]
    return {"columns": columns, "rows": rows, "row_count": len(rows), "truncated": found.more}


def _unique(names: Sequence[str]) -> list[str]:
    """Two columns may have one name."""
    # Thousands of columns may have one name.
    made: dict[str, None] = {}
    numbers: Counter[str] = Counter()
    for name in names:
        other = name
        while other in made:
            numbers[name] += 1
            other = f"{name}_{numbers[name] + 1}"
        made[other] = None
    return list(made)


def _plain(value: object) -> Value | str:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"0x{value.hex()}"
    if isinstance(value, datetime | date | clock_time):
        return value.isoformat()
    return str(value)


def _explain(refused: StatementRefused, seconds: int = SECONDS) -> str:
    if refused.number == TOO_LONG:
        return f"The statement took longer than {seconds} seconds."
    return refused.message
