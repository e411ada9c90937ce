"""An edge as operators run it, on free ports and in its own directory, with helpers for tests."""

import asyncio
import itertools
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec

from stead.dev.ports import reserve_ports
from stead.dev.subprocesses import Streams
from stead.dev.supervised_program import LOOPBACK, clean_environment
from stead.edge.admin import AdminFailed, EdgeAdmin, EdgePosition
from stead.edge.certificate import make_self_signed
from stead.edge.ledger import nginx_processes
from stead.edge.leftovers import title_of
from stead.protocol.edge_records import EnvironmentRecord, HostRecord, RecordKind, RecordLine
from tests.edge.fastcgi import Application, Reply, Request
from tests.patience import Patience, time_limit
from tests.preloaded.processes import Process, spawn

NODE = "node-a"
BOUND = 30.0
POLL = 0.05


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory with a short path, because of its sockets, which the user of the workers may enter."""
    path = Path(tempfile.mkdtemp(prefix="edge-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@dataclass
class EdgeHarness:
    data: Path
    port: int
    secure_port: int
    node: str = NODE
    settings: dict[str, str] = field(default_factory=dict)
    revisions: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    applications: dict[str, Application] = field(default_factory=dict)
    _process: Process | None = None
    _admin: EdgeAdmin | None = None

    @property
    def run(self) -> Path:
        return self.data / "run"

    @property
    def ledger(self) -> Path:
        return self.run / "ledger.json"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def workers(self) -> list[int]:
        return [pid for pid in nginx_processes(self.pid)[1:] if "worker" in title_of(pid)]

    @property
    def admin(self) -> EdgeAdmin:
        if self._admin is None:
            self._admin = EdgeAdmin(self.run / "private" / "admin.sock")
        return self._admin

    async def start(self) -> None:
        environment = {
            "STEAD_NODE_ID": self.node,
            "STEAD_NODE_DATA": str(self.data),
            "STEAD_EDGE_HTTP": f"{LOOPBACK}:{self.port}",
            "STEAD_EDGE_HTTPS": f"{LOOPBACK}:{self.secure_port}",
            "STEAD_EDGE_HTTPS_PORT": str(self.secure_port),
            "STEAD_EDGE_USER": "www-data" if os.geteuid() == 0 else "",
            "STEAD_EDGE_WORKERS": "2",
        }
        self._process = self._spawn(environment)
        await self.until_ready()

    def _spawn(self, environment: dict[str, str]) -> Process:
        with (self.data / "edge.log").open("ab") as log:
            return spawn(
                [sys.executable, "-m", "stead.steadctl", "edge"],
                env=clean_environment(environment | self.settings),
                streams=Streams(log, log, log),
            )

    async def until_ready(self) -> None:
        patience = Patience(BOUND)
        while True:
            try:
                await self.admin.state()
            except AdminFailed:
                assert self._process is not None
                assert self._process.poll() is None, self.log()
                assert not patience.is_over, self.log()
                await asyncio.sleep(POLL)
            else:
                return

    def log(self) -> str:
        return (self.data / "edge.log").read_text(errors="replace")[-4000:]

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self._admin is not None:
            await self._admin.close()
            self._admin = None
        if self._process is not None:
            if self._process.poll() is None:
                self._process.send_signal(number)
            try:
                await asyncio.to_thread(self._process.wait, BOUND)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)

    async def close(self) -> None:
        for application in self.applications.values():
            await application.stop()
        await self.stop()

    # Records

    def line(self, kind: RecordKind, name: str, value: Any) -> RecordLine:
        return RecordLine(kind, name, next(self.revisions), msgspec.to_builtins(value))

    async def tell(self, kind: RecordKind, name: str, value: Any) -> EdgePosition:
        return await self.admin.apply([self.line(kind, name, value)])

    async def environment(self, name: str, **fields: Any) -> EdgePosition:
        given = {"site": f"site_{name}", "node": self.node} | fields
        return await self.tell("environment", f"env_{name}", msgspec.convert(given, EnvironmentRecord))

    async def site(self, host: str, name: str, files: dict[str, str | bytes] | None, **fields: Any) -> str:
        """A host with an environment; with files, a static release of them."""
        https = fields.pop("https", False)
        if files is not None:
            fields["release"] = self.release(fields.get("release", f"rel-{name}"), files)
        await self.environment(name, **fields)
        await self.tell("host", host, HostRecord(f"env_{name}", https=https))
        return host

    def release(self, name: str, files: dict[str, str | bytes]) -> str:
        home = self.data / "releases" / name
        for path, content in files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        home.mkdir(parents=True, exist_ok=True)
        return name

    async def application(self, name: str) -> Application:
        """The FastCGI application of an environment, which records its requests."""
        home = self.data / "environments" / f"env_{name}"
        (home / "current").mkdir(parents=True)
        (home / "current" / "index.php").write_text("<?php")
        made = Application(home / "run" / "fpm.sock", echo_request)
        await made.start()
        self.applications[name] = made
        return made

    async def certificate(self, host: str) -> bytes:
        chain, key = make_self_signed(host)
        await self.tell("certificate", host, {"chain": chain.decode(), "key": key.decode()})
        return chain

    # Requests

    async def get(self, host: str, path: str = "/", *, method: str = "GET", **options: Any) -> httpx.Response:
        headers = [("host", host), *dict(options.pop("headers", {})).items()]
        async with httpx.AsyncClient(timeout=BOUND) as client:
            return await client.request(
                method, f"http://{LOOPBACK}:{self.port}{path}", headers=headers, **options
            )

    async def raw(self, said: bytes, *, patience: float = 10.0) -> bytes:
        """Send the bytes, and return everything until the edge closes the connection or falls silent."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self.port)
        return await _converse(reader, writer, said, patience)

    async def secure(
        self,
        host: str,
        path: str = "/",
        *,
        sni: str | None = None,
        protocols: tuple[str, ...] = ("http/1.1",),
    ) -> bytes:
        context = unverified_context()
        context.set_alpn_protocols(list(protocols))
        reader, writer = await asyncio.open_connection(
            LOOPBACK, self.secure_port, ssl=context, server_hostname=sni or host
        )
        said = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        return await _converse(reader, writer, said, 10.0)

    async def ledger_lines(self, count: int) -> list[dict[str, Any]]:
        """Wait until the ledger has this many lines."""
        patience = Patience(BOUND)
        while True:
            text = self.ledger.read_text()
            lines = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
            if len(lines) >= count:
                return [json.loads(line) for line in lines]
            assert not patience.is_over
            await asyncio.sleep(POLL)

    async def ledgered(self, path: str) -> dict[str, Any]:
        """The ledger line of a path that only this test requests."""
        patience = Patience(BOUND)
        while True:
            for text in self.ledger.read_text().splitlines():
                if path in text and text.endswith("}"):
                    line: dict[str, Any] = json.loads(text)
                    if line["path"] == path:
                        return line
            assert not patience.is_over
            await asyncio.sleep(POLL)


def unverified_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: bytes, patience: float
) -> bytes:
    heard = b""
    try:
        writer.write(said)
        async with time_limit(patience):
            while part := await reader.read(65536):
                heard += part
    except (TimeoutError, ConnectionError, ssl.SSLError):
        pass
    finally:
        writer.close()
    return heard


def status_of(answer: bytes) -> int:
    """The status of the response; 0 without one."""
    return int(answer.split(maxsplit=2)[1]) if answer.startswith(b"HTTP/") else 0


async def echo_request(request: Request) -> Reply:
    """A response that contains the whole request."""
    return Reply(json.dumps(request.params | {"body": request.body.decode("latin-1")}).encode())


@asynccontextmanager
async def start_edge(node: str = NODE, **settings: str) -> AsyncIterator[EdgeHarness]:
    with scratch() as data:
        port, secure_port = reserve_ports(2)
        made = EdgeHarness(data, port, secure_port, node, settings)
        try:
            await made.start()
            yield made
        finally:
            await made.close()
