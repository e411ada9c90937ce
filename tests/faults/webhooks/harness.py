"""Fifty customers with an endpoint each, workers that can be killed, and a record of received requests."""

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
from stead.dev.subprocesses import Streams
from stead.shared.ids import new_id
from tests.faults.webhooks.worker import SharedClock
from tests.patience import time_limit
from tests.preloaded.processes import Process, spawn
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
class Harness:
    connection: Any
    database_url: str
    scratch: Path
    clock: SharedClock
    authority: CertificateAuthority
    key: str
    receiver_seconds: float
    customers: list[Customer] = field(default_factory=list)
    workers: list[Process] = field(default_factory=list)
    killed: int = 0

    @property
    def record_file(self) -> Path:
        return self.scratch / "requests"

    async def add_customers(self, kinds: dict[Kind, int]) -> None:
        sealer = Sealer.from_text(self.key)
        for kind, number in kinds.items():
            for _ in range(number):
                host = "127." + ".".join(str(1 + secrets.randbelow(250)) for _ in range(3))
                customer = Customer(new_id("client"), new_id("whe"), host, kind)
                await self.connection.execute(
                    "insert into accounts (id, email, name, password_hash, plan, created_at)"
                    " values ($1, $1 || '@example.com', 'x', 'x', 'free', now())",
                    customer.account,
                )
                await self.connection.execute(
                    "insert into webhook_endpoints (id, account_id, mode, url, event_types, secret,"
                    " created_at) values ($1, $2, 'live', $3, '{site.restarted}', $4, now())",
                    *(customer.endpoint, customer.account, f"https://{host}:8443/hook"),
                    service.seal(sealer, customer.endpoint, signing.new_secret()),
                )
                self.customers.append(customer)

    async def publish(self, customers: Iterable[Customer], each: int, per_second: float) -> None:
        """Publish `each` events per customer, in turn, at a steady rate, some in every transaction."""
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
        arguments = [
            self.database_url,
            self.key,
            str(self.authority.root_file),
            clock_file,
            str(self.receiver_seconds),
        ]
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as output, (self.scratch / "workers.log").open("ab") as log:
            worker = spawn(
                [sys.executable, "-m", "tests.faults.webhooks.worker", *arguments],
                streams=Streams(log, writing, log),
            )
            os.close(writing)
            self.workers.append(worker)
            async with time_limit(60):
                assert await asyncio.to_thread(output.readline) == b"ready\n"

    async def keep_killing_workers(self, seconds: float) -> None:
        """Kill the oldest worker without warning, after another one has started."""
        while True:
            await asyncio.sleep(seconds)
            await self.start_worker()
            await _kill(self.workers.pop(0))
            self.killed += 1

    async def value(self, sql: str, *args: object) -> Any:
        return await self.connection.fetchval(sql, *args)

    def received(self) -> list[tuple[str, str, float, bool]]:
        """The host, delivery, time and acceptance of every complete request."""
        lines = self.record_file.read_text().splitlines()
        return [
            (host, delivery, float(at), accepted == "1")
            for host, delivery, at, accepted in (line.split() for line in lines)
        ]

    async def stop(self) -> None:
        while self.workers:
            await _kill(self.workers.pop())


@asynccontextmanager
async def start_harness(
    name: str, scratch: Path, kinds: dict[Kind, int], *, receiver_seconds: float
) -> AsyncIterator[Harness]:
    """`receiver_seconds` is how long workers wait for a response, in real time."""
    async with spare_database(name) as url, AsyncExitStack() as ending:
        connection: Any = await asyncpg.connect(url)
        ending.push_async_callback(connection.close)
        (scratch / "clock").write_bytes(bytes(8))
        (scratch / "requests").touch()
        key = _random_key()
        harness = Harness(
            connection,
            url,
            scratch,
            SharedClock(scratch / "clock"),
            CertificateAuthority(scratch),
            key,
            receiver_seconds,
        )
        await harness.add_customers(kinds)
        receivers = await _start_receivers(harness)
        ending.push_async_callback(_end, receivers)
        ending.push_async_callback(harness.stop)
        yield harness


def _random_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


async def _start_receivers(harness: Harness) -> asyncio.subprocess.Process:
    hosts = {customer.host: customer.kind for customer in harness.customers}
    certificate, secret = harness.authority.issue(*hosts)
    config = {
        "certificate": str(certificate),
        "key": str(secret),
        "record": str(harness.record_file),
        "hosts": hosts,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.webhooks.receivers"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(config).encode() + b"\n")
    async with time_limit(30):
        assert await process.stdout.readline() == b"ready\n"
    return process


async def _kill(worker: Process) -> None:
    worker.kill()
    await asyncio.to_thread(worker.wait)


async def _end(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()
