"""The CPU cost of a webhook delivery: claim, sign, send and record it; compared with a loop that only posts.

`python -m bench.webhook_delivery worker|bare …` are the two measured processes.
"""

import asyncio
import base64
import os
import secrets
import ssl
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import asyncpg
import uvloop

from bench.load import cpu_time, server_core
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.control.engines.postgres import Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.http.client_address import parse_networks
from stead.control.sealing import Sealer
from stead.control.webhooks import service, signing
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.delivery_worker import DeliveryWorker
from stead.dev.certificate_authority import CertificateAuthority
from stead.shared.address_policy import AddressPolicy
from stead.shared.clock import wall_clock
from stead.shared.ids import new_id

GOAL = 2.0
ROUNDS, PER_ROUND, ENDPOINTS, CONCURRENCY = 7, 4000, 50, 64
TIMEOUT = 120.0
PORT = 8443
_ROOT = Path(__file__).parents[1]
_BODY = (
    b'{"id":"evt_01k9zy3v7d00r3m8w5x2t6b4qa","type":"deploy.completed","site_id":null,"env_id":null,'
    b'"created_at":"2026-11-15T09:30:00Z","data":{"domain":"example.com"}}'
)


class DeliveryQueue:
    """Rows for the delivery worker to send, all to one sink."""

    def __init__(self, connection: Any, sealer: Sealer, url: str) -> None:
        self._connection, self._sealer, self._url = connection, sealer, url
        self._endpoints: list[str] = []

    async def prepare(self) -> None:
        account = new_id("client")
        await self._connection.execute(
            "insert into accounts (id, email, name, password_hash, plan, created_at)"
            " values ($1, $1 || '@example.com', 'x', 'x', 'unlimited', now())",
            account,
        )
        for _ in range(ENDPOINTS):
            endpoint = new_id("whe")
            sealed = service.seal(self._sealer, endpoint, signing.new_secret())
            await self._connection.execute(
                "insert into webhook_endpoints (id, account_id, mode, url, event_types, secret, created_at)"
                " values ($1, $2, 'live', $3, '{*}', $4, now())",
                *(endpoint, account, self._url, sealed),
            )
            self._endpoints.append(endpoint)
        self._account = account

    async def fill(self, deliveries: int) -> None:
        events = [new_id("evt") for _ in range(deliveries // ENDPOINTS)]
        pairs = [(event, endpoint) for event in events for endpoint in self._endpoints]
        await self._connection.execute(
            "insert into events (id, type, account_id, data, created_at, position)"
            " select i, 'deploy.completed', $2, '{\"domain\": \"example.com\"}', now(),"
            " nextval('event_positions') from unnest($1::text[]) i",
            *(events, self._account),
        )
        await self._connection.execute(
            "insert into webhook_deliveries (id, event_id, endpoint_id, created_at, next_attempt_at)"
            " select i, e, w, now(), now() from unnest($1::text[], $2::text[], $3::text[]) as t (i, e, w)",
            *([new_id("whd") for _ in pairs], [e for e, _ in pairs], [w for _, w in pairs]),
        )

    async def wait_until_delivered(self) -> None:
        started = time.monotonic()
        waiting = "select count(*) from webhook_deliveries where status <> 'delivered'"
        while await self._connection.fetchval(waiting):
            if time.monotonic() - started > TIMEOUT:
                raise CouldNotRun("the deliveries were not sent in time")
            await asyncio.sleep(0.05)


async def compare_deliveries(bench: Bench) -> Result:
    key = base64.b64encode(os.urandom(32)).decode()
    host = "127." + ".".join(str(1 + secrets.randbelow(250)) for _ in range(3))
    url = f"https://{host}:{PORT}/hook"
    async with AsyncExitStack() as exits:
        authority = CertificateAuthority(bench.scratch)
        certificate, secret = authority.issue(host)
        await _start_program(exits, ["bench.webhook_sink", host, str(PORT), str(certificate), str(secret)])
        words = [bench.database_url, key, str(authority.root_file)]
        worker = await _start_program(exits, ["bench.webhook_delivery", "worker", *words])
        bare = await _start_program(exits, ["bench.webhook_delivery", "bare", url, str(authority.root_file)])
        connection: Any = await asyncpg.connect(bench.database_url)
        exits.push_async_callback(connection.close)
        queue = DeliveryQueue(connection, Sealer.from_text(key), url)
        await queue.prepare()
        costs: list[float] = []
        bare_costs: list[float] = []
        rates: list[float] = []
        bare_rates: list[float] = []
        for turn in range(ROUNDS + 1):
            for with_worker in (True, False) if turn % 2 else (False, True):
                process = worker if with_worker else bare
                if with_worker:
                    # Inserting is not what is measured: the delivery worker finds them all at once.
                    await queue.fill(PER_ROUND)
                before, started = cpu_time(process.pid), time.monotonic()
                await (queue.wait_until_delivered() if with_worker else _post(bare))
                cost, took = (cpu_time(process.pid) - before) / 1e3 / PER_ROUND, time.monotonic() - started
                if turn:
                    (costs if with_worker else bare_costs).append(cost)
                    (rates if with_worker else bare_rates).append(PER_ROUND / took)
    ratios = [cost / base for cost, base in zip(costs, bare_costs, strict=True)]
    return Result(
        median(ratios),
        GOAL,
        [
            f"ratio {spread(ratios)}",
            f"worker: CPU {median(costs):.0f} µs a delivery, {median(rates):.0f} deliveries/s per worker",
            f"bare aiohttp loop: CPU {median(bare_costs):.0f} µs a POST, {median(bare_rates):.0f} POSTs/s",
        ],
    )


async def _post(bare: asyncio.subprocess.Process) -> None:
    assert bare.stdin is not None
    assert bare.stdout is not None
    bare.stdin.write(f"{PER_ROUND}\n".encode())
    async with asyncio.timeout(TIMEOUT):
        if await bare.stdout.readline() != b"done\n":
            raise CouldNotRun("the bare loop ended")


async def _start_program(exits: AsyncExitStack, words: list[str]) -> asyncio.subprocess.Process:
    pin = server_core() if "sink" not in words[0] else []
    process = await asyncio.create_subprocess_exec(
        *pin, sys.executable, "-m", *words, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    exits.push_async_callback(_stop, process)
    assert process.stdout is not None
    async with asyncio.timeout(30):
        if await process.stdout.readline() != b"ready\n":
            raise CouldNotRun(f"{words[0]} did not start")
    return process


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        await process.wait()


async def _worker(database_url: str, key: str, authority: str) -> None:
    database, listener = Database(database_url, clock=wall_clock, size=4), PostgresListener(database_url)
    listener.start()
    client = HttpsClient(
        AddressPolicy(parse_networks(["127.0.0.0/8"])), context=ssl.create_default_context(cafile=authority)
    )
    print("ready", flush=True)
    await DeliveryWorker(database, listener, Sealer.from_text(key), client, clock=wall_clock).run()


async def _bare(url: str, authority: str) -> None:
    context = ssl.create_default_context(cafile=authority)
    headers = {"content-type": "application/json"}
    connector = aiohttp.TCPConnector(limit=CONCURRENCY, ssl=context)
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as session:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            left = iter(range(int(line)))

            async def work(left: Any = left) -> None:
                for _ in left:
                    async with session.post(
                        url, data=_BODY, headers=headers, allow_redirects=False, timeout=_REQUEST_TIMEOUT
                    ) as response:
                        await response.read()
                        assert response.status == 204

            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
            print("done", flush=True)


_REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=15)

if __name__ == "__main__":
    if sys.argv[1] == "worker":
        uvloop.run(_worker(*sys.argv[2:]))
    else:
        uvloop.run(_bare(*sys.argv[2:]))
