"""ClickHouse for a development machine: `chdb`, the same engine as a library, behind ClickHouse's HTTP
interface.

    python -m stead.dev.chdb_server CONFIG

The configuration is a JSON file with the port, the directory of the data, and the users. It supports what
`control/engines/clickhouse.py` uses: one statement in a request, parameters, settings, and inserts that
select from `input()`: the rows that follow the statement, compressed with zstd. The library has no `input()`,
so it reads them from a file. It has no users either, so passwords and read-only users are checked here.
"""

import hmac
import queue
import re
import signal
import sys
import tempfile
import threading
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb
import msgspec
import zstandard

LOOPBACK = "127.0.0.1"
CONNECTIONS = 8
"""Of each kind of user. More requests wait."""
WAIT_SECONDS = 30.0
MAX_BODY = 256 << 20
_PLAIN_INSERT = re.compile(r"(?P<into>insert into \w+ \([\w, ]+\)) format (?P<format>\w+)")
_INSERT = re.compile(
    r"(?P<before>insert into .+ from )input\((?P<structure>'(?:[^'\\]|\\.)*')\)(?P<after>.*)"
    r" format (?P<format>\w+)\n",
    re.DOTALL,
)
_SELECT = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_CODE = re.compile(r"Code: (\d+)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_NOT_SETTINGS = frozenset({"query", "database", "default_format"})
_WRONG_PASSWORD, _BUSY, _UNKNOWN = 516, 202, 1002
"""ClickHouse's numbers of errors."""


class User(msgspec.Struct, frozen=True):
    password: str
    readonly: bool


class Config(msgspec.Struct, frozen=True):
    port: int
    data: str
    users: dict[str, User]


class Connection:
    """It belongs to one request at a time."""

    def __init__(self, data: str, *, readonly: bool) -> None:
        self.engine, self._database = chdb.connect(data), ""
        if readonly:
            # Settings may still be chosen for each query.
            self.engine.query("set readonly = 2")

    def use(self, database: str) -> None:
        if database != self._database:
            self.engine.query(f"use {_quote_name(database)}")
            self._database = database


class Engine:
    """Connections to the one engine of this process."""

    def __init__(self, data: str) -> None:
        self._directory = Path(data).parent
        self._pools: dict[bool, queue.LifoQueue[Connection]] = {
            readonly: queue.LifoQueue() for readonly in (False, True)
        }
        for readonly, pool in self._pools.items():
            for _ in range(CONNECTIONS):
                pool.put(Connection(data, readonly=readonly))

    def run(self, statement: str, rows: bytes, values: dict[str, str], *, readonly: bool) -> bytes:
        pool = self._pools[readonly]
        connection = pool.get(timeout=WAIT_SECONDS)
        try:
            connection.use(values.get("database", "default"))
            if (insert := _PLAIN_INSERT.fullmatch(statement)) is not None:
                return _insert_plain(connection.engine, insert, rows, values)
            if (insert := _INSERT.fullmatch(statement)) is not None:
                return self._insert_selected(connection.engine, insert, rows, values)
            return _run_on(connection.engine, statement, values)
        finally:
            pool.put(connection)

    def _insert_selected(
        self, connection: Any, insert: re.Match[str], rows: bytes, values: dict[str, str]
    ) -> bytes:
        with tempfile.NamedTemporaryFile(dir=self._directory, prefix="insert-", suffix=".zst") as file:
            file.write(rows)
            file.flush()
            source = f"file({_quote(file.name)}, '{insert['format']}', {insert['structure']}, 'zstd')"
            statement = f"{insert['before']}{source}{insert['after']}{_settings_clause(values)}"
            return _run_on(connection, statement, {})


def _insert_plain(connection: Any, insert: re.Match[str], rows: bytes, values: dict[str, str]) -> bytes:
    inserter = connection.send_insert(insert["into"] + _settings_clause(values), insert["format"])
    inserter.append(rows)
    inserter.finish()
    return b""


def _settings_clause(values: dict[str, str]) -> str:
    settings = ", ".join(
        f"{name} = {_quote(value)}"
        for name, value in values.items()
        if name not in _NOT_SETTINGS and not name.startswith("param_") and _NAME.fullmatch(name)
    )
    return f" settings {settings}" if settings else ""


def _run_on(connection: Any, statement: str, values: dict[str, str]) -> bytes:
    parameters = {name[6:]: value for name, value in values.items() if name.startswith("param_")}
    if _SELECT.match(statement):
        statement += _settings_clause(values)
    result = connection.query(statement, values.get("default_format", "TabSeparated"), params=parameters)
    return bytes(result.bytes() or b"") if hasattr(result, "bytes") else b""


def _quote(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _quote_name(name: str) -> str:
    return "`" + name.replace("\\", "").replace("`", "") + "`"


def _read_form(kind: str, body: bytes) -> dict[str, str]:
    form = message_from_bytes(b"Content-Type: %b\r\n\r\n%b" % (kind.encode(), body), policy=HTTP)
    values = {}
    for part in form.iter_parts():
        value = part.get_payload(decode=True)
        name = str(part.get_param("name", header="content-disposition"))
        values[name] = value.decode() if isinstance(value, bytes) else ""
    return values


def _split(body: bytes) -> tuple[bytes, bytes]:
    """The statement, and the rows that follow it, which stay compressed."""
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    return decompressor.decompress(body), decompressor.unused_data


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120
    engine: Engine
    config: Config

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            self._respond(413, b"")
            return
        body = self.rfile.read(length)
        user = self._find_user()
        if user is None:
            self._respond(403, b"", _WRONG_PASSWORD)
            return
        values = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            values |= _read_form(kind, body)
        rows = body
        try:
            if self.headers.get("Content-Encoding") == "zstd":
                body, rows = _split(body)
            statement = values.get("query") or body.decode()
            result = self.engine.run(statement, rows, values, readonly=user.readonly)
        except queue.Empty:
            self._respond(503, b"all connections are in use", _BUSY)
        except Exception as error:  # noqa: BLE001 - every error of the engine is an answer
            code = _CODE.search(str(error))
            self._respond(500, str(error).encode(), int(code[1]) if code else _UNKNOWN)
        else:
            self._respond(200, result)

    def _find_user(self) -> User | None:
        user = self.config.users.get(self.headers.get("X-ClickHouse-User", ""))
        given = self.headers.get("X-ClickHouse-Key", "")
        if user is None or not hmac.compare_digest(given.encode(), user.password.encode()):
            return None
        return user

    def _respond(self, status: int, body: bytes, code: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library
        del format, args


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main(path: str) -> None:
    config = msgspec.json.decode(Path(path).read_bytes(), type=Config)
    Handler.config, Handler.engine = config, Engine(config.data)
    server = Server((LOOPBACK, config.port), Handler)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stop.wait()
    server.shutdown()
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
