"""Fifty customers with an endpoint each, workers that can be killed, and a record of what arrived where."""

import asyncio
import base64
import json
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import asyncpg

from stead.control.sealing import Sealer
from stead.control.webhooks import service, signing
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.ids import new_id
from tests.faults.webhooks.worker import SharedClock
from tests.teams import spare_database

Kind = Literal["healthy", "hangs", "half", "refuses"]
ROOT = Path(__file__).parents[3]
_TYPE, _DATA = "site.restarted", '{"domain": "example.com"}'


@dataclass(frozen=True)
class Customer:
    account: str
    endpoint: str
    host: str
    kind: Kind


@dataclass
class Stage:
    connection: Any
    database_url: str
    scratch: Path
    clock: SharedClock
    authority: CertificateAuthority
    key: str
    patience: float
    customers: list[Customer] = field(default_factory=list)
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)
    killed: int = 0

    @property
    def book(self) -> Path:
        return self.scratch / "book"

    async def add(self, kinds: dict[Kind, int]) -> None:
        sealer = Sealer.from_text(self.key)
        for kind, number in kinds.items():
            for _ in range(number):
                host = "127." + ".".join(str(1 + secrets.randbelow(250)) for _ in range(3))
                made = Customer(new_id("client"), new_id("whe"), host, kind)
                await self.connection.execute(
                    "insert into accounts (id, email, name, password_hash, plan, created_at)"
                    " values ($1, $1 || '@example.com', 'x', 'x', 'free', now())",
                    made.account,
                )
                await self.connection.execute(
                    "insert into webhook_endpoints (id, account_id, mode, url, event_types, secret,"
                    " created_at) values ($1, $2, 'live', $3, '{site.restarted}', $4, now())",
                    *(made.endpoint, made.account, f"https://{host}:8443/hook"),
                    service.seal(sealer, made.endpoint, signing.new_secret()),
                )
                self.customers.append(made)

    async def publish(self, customers: Iterable[Customer], each: int, per_second: float) -> None:
        """So many events for each, in turn, at a steady pace; a few in every transaction."""
        chosen = [customer for _ in range(each) for customer in customers]
        loop = asyncio.get_running_loop()
        began, sent, batch = loop.time(), 0, 20
        while sent < len(chosen):
            now = chosen[sent : sent + batch]
            await self.connection.execute(
                "insert into events (id, type, account_id, data, created_at)"
                " select i, $3, a, $4::text::jsonb, clock_timestamp()"
                " from unnest($1::text[], $2::text[]) as t (i, a)",
                *([new_id("evt") for _ in now], [customer.account for customer in now], _TYPE, _DATA),
            )
            sent += len(now)
            await asyncio.sleep(max(0.0, began + sent / per_second - loop.time()))

    async def start_worker(self) -> None:
        clock_file = str(self.scratch / "clock")
        words = [self.database_url, self.key, str(self.authority.root_file), clock_file, str(self.patience)]
        with (self.scratch / "workers.log").open("ab") as log:
            worker = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.faults.webhooks.worker", *words),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.workers.append(worker)
        assert worker.stdout is not None
        async with asyncio.timeout(60):
            assert await worker.stdout.readline() == b"ready\n"

    async def keep_killing(self, seconds: float) -> None:
        """The oldest, without a warning, once another is there to take its place."""
        while True:
            await asyncio.sleep(seconds)
            await self.start_worker()
            await _end(self.workers.pop(0))
            self.killed += 1

    async def value(self, sql: str, *args: object) -> Any:
        return await self.connection.fetchval(sql, *args)

    def received(self) -> list[tuple[str, str, float, bool]]:
        """Host, delivery, when, and whether it was taken, of every request that was read whole."""
        lines = self.book.read_text().splitlines()
        return [
            (host, delivery, float(at), taken == "1")
            for host, delivery, at, taken in (line.split() for line in lines)
        ]

    async def stop(self) -> None:
        while self.workers:
            await _end(self.workers.pop())


@asynccontextmanager
async def stage(name: str, scratch: Path, kinds: dict[Kind, int], *, patience: float) -> AsyncIterator[Stage]:
    """`patience` is what the workers give a receiver, in real seconds."""
    async with spare_database(name) as url, AsyncExitStack() as ending:
        connection: Any = await asyncpg.connect(url)
        ending.push_async_callback(connection.close)
        (scratch / "clock").write_bytes(bytes(8))
        (scratch / "book").touch()
        key = _random_key()
        made = Stage(
            connection,
            url,
            scratch,
            SharedClock(scratch / "clock"),
            CertificateAuthority(scratch),
            key,
            patience,
        )
        await made.add(kinds)
        sink = await _start_sink(made)
        ending.push_async_callback(_end, sink)
        ending.push_async_callback(made.stop)
        yield made


def _random_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


async def _start_sink(made: Stage) -> asyncio.subprocess.Process:
    hosts = {customer.host: customer.kind for customer in made.customers}
    certificate, secret = made.authority.issue(*hosts)
    given = {"certificate": str(certificate), "key": str(secret), "book": str(made.book), "hosts": hosts}
    sink = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.webhooks.sink"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert sink.stdin is not None
    assert sink.stdout is not None
    sink.stdin.write(json.dumps(given).encode() + b"\n")
    async with asyncio.timeout(30):
        assert await sink.stdout.readline() == b"ready\n"
    return sink


async def _end(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()
