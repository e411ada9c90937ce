"""ClickHouse, over its HTTP interface.

A statement is one request. Values of a query are parameters, never part of its text. Requests are blocking,
so each runs in a thread; there are few threads, so a slow server delays only those who ask for insights.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar
from urllib.parse import unquote, urlsplit
from weakref import WeakValueDictionary

import msgspec
import requests
import urllib3
import zstandard
from requests.adapters import HTTPAdapter

from stead.control.engines.transaction_guard import require_no_transaction

T = TypeVar("T")

QUERY_SECONDS = 5
INSERT_SECONDS = 60
CONNECT_SECONDS = 3.0
AT_ONCE = 8
"""Requests of one process. More wait for a short time, and are then refused."""
WAIT_SECONDS = 2.0
AT_ONCE_OF_ACCOUNT = 2
"""Queries of one account. More wait for a little longer than a query may take."""
ACCOUNT_WAIT_SECONDS = QUERY_SECONDS + 1.0
MAX_RESULT_BYTES = 16 << 20
_UNREADABLE = frozenset({6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 321, 349, 407, 561, 636})
"""The server's numbers of errors that mean that the rows of an insert are wrong: repeating does not help."""
_TOO_EXPENSIVE = frozenset({158, 159, 160, 241, 307, 396})
_PASSING = frozenset(
    {
        *(0, 60, 74, 75, 76, 81, 164, 192, 193, 194, 198, 202, 203, 209, 210, 225, 234, 236, 242, 243, 252),
        *(254, 279, 285, 286, 319, 369, 394, 473, 497, 499, 516, 999),
    }
)
"""Errors of the server itself, which any statement would meet: no table, no space, no access, too many
queries or parts, a network or a keeper that does not respond."""


_ONE_BLOCK: Mapping[str, str | int] = {
    # An insert must be one block, and the same one whenever it is repeated.
    "async_insert": 0,
    "insert_deduplicate": 1,
    "deduplicate_insert_select": "force_enable",
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    "max_threads": 1,
    "max_insert_threads": 1,
    "input_format_parallel_parsing": 0,
    "max_insert_block_size": 10_000_000,
    "min_insert_block_size_rows": 10_000_000,
    "min_insert_block_size_bytes": 1 << 30,
    "date_time_input_format": "basic",
    "max_memory_usage": 2 << 30,
    # A chunk may be about many environments.
    "max_query_size": 16 << 20,
}

Body = bytes | Mapping[str, str]
"""A form if it is not bytes."""


class ClickHouseUnavailable(Exception):
    """The server does not respond, or responds with an error. The request can be retried."""


class StatementFailed(ClickHouseUnavailable):
    """The server responds with an error that may be the fault of the statement or of its rows."""


class QueryTooExpensive(Exception):
    """The query takes more time, memory or rows than it may."""


class RowsUnreadable(Exception):
    """The rows of an insert are not what the table expects."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A query that returns rows. `control/insights/queries.py` makes them, each for what its caller sees."""

    text: str
    parameters: Mapping[str, str]
    settings: Mapping[str, str | int]


class Reader(Protocol):
    """What queries are asked of."""

    async def read(self, row: type[T], statement: Statement) -> list[T]:
        """Raises QueryTooExpensive if the result is too large."""
        ...

    async def read_up_to(
        self, row: type[T], statement: Statement, max_bytes: int = MAX_RESULT_BYTES
    ) -> tuple[list[T], bool]:
        """The first rows, and whether there are more than were read."""
        ...


class ClickHouse:
    """`url` is `http://user:password@host:port/database`. Nothing is sent if it is empty."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.is_configured = bool(url)
        self.database = parts.path.strip("/") or "default"
        self._address = f"{parts.scheme}://{parts.hostname}:{parts.port or 8123}/"
        self._headers = {
            "X-ClickHouse-User": unquote(parts.username or "default"),
            "X-ClickHouse-Key": unquote(parts.password or ""),
        }
        self._session = requests.Session()
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=AT_ONCE)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, adapter)
        # The environment's proxies and .netrc are not for this connection.
        self._session.trust_env = False
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="clickhouse")
        self._places = asyncio.Semaphore(AT_ONCE)
        self._places_of_accounts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of_account(self, account: str) -> Reader:
        """For the queries of one account, which leave places to others."""
        places = self._places_of_accounts.setdefault(account, asyncio.Semaphore(AT_ONCE_OF_ACCOUNT))
        return _AccountReader(self, places)

    async def read(self, row: type[T], statement: Statement) -> list[T]:
        rows, has_more = await self.read_up_to(row, statement)
        if has_more:
            raise QueryTooExpensive("the result is too large")
        return rows

    async def read_up_to(
        self,
        row: type[T],
        statement: Statement,
        max_bytes: int = MAX_RESULT_BYTES,
        places: asyncio.Semaphore | None = None,
    ) -> tuple[list[T], bool]:
        """Each row is an array of its columns."""
        # In a form: the ids of a thousand sites are too long for an address.
        form = {f"param_{name}": value for name, value in statement.parameters.items()}
        body = await self._send(
            {**statement.settings, "default_format": "JSONCompactEachRow"},
            {"query": statement.text, **form},
            QUERY_SECONDS,
            max_bytes=max_bytes,
            places=places,
        )
        has_more = len(body) > max_bytes
        lines = body.split(b"\n")
        # Behind the last line there is nothing, or a part of one that is left out.
        del lines[-1]
        try:
            # The server quotes numbers of 64 bits unless it is told otherwise; `strict` would refuse those.
            return [msgspec.json.decode(line, type=row, strict=False) for line in lines], has_more
        except msgspec.MsgspecError:
            # It has failed after the first rows, and written that behind them.
            raise ClickHouseUnavailable("the result is not complete") from None

    async def insert(self, statement: str, rows: bytes, *, token: str) -> None:
        """Return when the rows are stored. A second insert with the same token changes nothing. `rows` are
        compressed with zstd, and the statement selects from `input()`. Raises RowsUnreadable."""
        # The statement is part of the body, because it may be too long for an address.
        body = zstandard.compress(statement.encode() + b"\n", 1) + rows
        await self._send(
            {**_ONE_BLOCK, "insert_deduplication_token": token}, body, INSERT_SECONDS, encoding="zstd"
        )

    async def execute(self, statement: str, *, in_database: bool = True) -> None:
        """For the definition of tables."""
        await self._send({}, statement.encode(), INSERT_SECONDS, in_database=in_database)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._session.close()

    async def _send(
        self,
        values: Mapping[str, str | int],
        body: Body,
        seconds: float,
        *,
        in_database: bool = True,
        encoding: str = "",
        max_bytes: int = MAX_RESULT_BYTES,
        places: asyncio.Semaphore | None = None,
    ) -> bytes:
        """At most one byte more than `max_bytes` is returned."""
        require_no_transaction("ClickHouse")
        if not self.is_configured:
            raise ClickHouseUnavailable("it is not configured")
        sent = {**values, "database": self.database} if in_database else values
        loop = asyncio.get_running_loop()
        if places is not None:
            await _take_place(places, ACCOUNT_WAIT_SECONDS)
        try:
            await _take_place(self._places, WAIT_SECONDS)
        except BaseException:
            if places is not None:
                places.release()
            raise
        task = loop.run_in_executor(self._threads, self._post, sent, body, seconds, encoding, max_bytes)
        # The place is free when the thread is, also if nobody waits for the answer any more.
        task.add_done_callback(partial(self._free_place, places))
        return await asyncio.shield(task)

    def _free_place(self, places: asyncio.Semaphore | None, task: "asyncio.Future[bytes]") -> None:
        self._places.release()
        if places is not None:
            places.release()
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()  # otherwise one that nobody waits for is logged

    def _post(
        self, values: Mapping[str, str | int], body: Body, seconds: float, encoding: str, max_bytes: int
    ) -> bytes:
        try:
            response = self._post_once(values, body, seconds, encoding)
        except requests.Timeout as error:
            raise ClickHouseUnavailable(type(error).__name__) from None
        except requests.ConnectionError:
            # The server has closed a connection that was idle. Nothing that is sent has another effect if it
            # is repeated.
            response = self._post_again(values, body, seconds, encoding)
        with response:
            if response.status_code != 200:
                raise _error_of(response)
            try:
                return bytes(response.raw.read(max_bytes + 1, decode_content=True))
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise ClickHouseUnavailable(type(error).__name__) from None

    def _post_again(
        self, values: Mapping[str, str | int], body: Body, seconds: float, encoding: str
    ) -> requests.Response:
        try:
            return self._post_once(values, body, seconds, encoding)
        except requests.RequestException as error:
            raise ClickHouseUnavailable(type(error).__name__) from None

    def _post_once(
        self, values: Mapping[str, str | int], body: Body, seconds: float, encoding: str
    ) -> requests.Response:
        return self._session.post(
            self._address,
            params=values,
            data=body if isinstance(body, bytes) else None,
            files=None if isinstance(body, bytes) else {name: (None, text) for name, text in body.items()},
            headers=self._headers | ({"Content-Encoding": encoding} if encoding else {}),
            timeout=(CONNECT_SECONDS, seconds + CONNECT_SECONDS),
            allow_redirects=False,
            stream=True,
        )


class _AccountReader:
    def __init__(self, clickhouse: ClickHouse, places: asyncio.Semaphore) -> None:
        self._clickhouse, self._places = clickhouse, places

    async def read(self, row: type[T], statement: Statement) -> list[T]:
        rows, has_more = await self.read_up_to(row, statement)
        if has_more:
            raise QueryTooExpensive("the result is too large")
        return rows

    async def read_up_to(
        self, row: type[T], statement: Statement, max_bytes: int = MAX_RESULT_BYTES
    ) -> tuple[list[T], bool]:
        return await self._clickhouse.read_up_to(row, statement, max_bytes, self._places)


async def _take_place(places: asyncio.Semaphore, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await places.acquire()
    except TimeoutError:
        raise ClickHouseUnavailable("too many requests wait for it") from None


def _error_of(response: requests.Response) -> Exception:
    """Without the server's message, which quotes values of the query."""
    code = response.headers.get("X-ClickHouse-Exception-Code", "")
    number = int(code) if code.isdigit() else 0
    if number in _TOO_EXPENSIVE:
        return QueryTooExpensive(f"error {number}")
    if number in _UNREADABLE:
        return RowsUnreadable(f"error {number}")
    kind = ClickHouseUnavailable if number in _PASSING else StatementFailed
    return kind(f"status {response.status_code}, error {number}")
