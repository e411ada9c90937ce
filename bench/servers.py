"""Real engines, the API as operators run it, and the bare handler."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import IO

import asyncpg
import httpx
import msgspec

from bench.load import server_core
from bench.results import CouldNotRun
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import DATABASE, Postgres
from stead.dev.engines.redis import Redis
from stead.dev.ports import reserve_ports
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.subprocesses import run
from stead.dev.supervised_program import LOOPBACK, clean_environment

READY_TIMEOUT = 30.0
STOP_TIMEOUT = 20.0
_STEADCTL = [sys.executable, "-m", "stead.steadctl"]
_ROOT = Path(__file__).parents[1]
_UNLIMITED = (
    "insert into plans values"
    " ('unlimited', 'For benchmarks', 1000, 1000, 1000, 1000, 1000, 60000000, 60000000, 60000000, 60000000)"
)
# Hexadecimal digits are part of the alphabet of identifiers, in the same order.
_KEYS = """
insert into api_keys (id, account_id, name, mode, last4, scopes, ip_allowlist, expires_at, created_at)
select 'key_' || lpad(to_hex(n), 26, '0'), $1, 'key number ' || n, 'live', 'a1B2',
       '{sites:read,jobs:read}', '{}', now() + interval '90 days', now()
from generate_series(1, $2::int) n
"""
# The owner of site number n is account number n modulo the number of accounts. Numbers are written as above.
_OTHER_ACCOUNTS = """
insert into accounts (id, email, name, password_hash, created_at)
select 'client_' || lpad(to_hex(n), 26, '0'), n || '@others.example', 'Somebody', '', now()
from generate_series(0, $1::int - 1) n
"""
_SITES = """
insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status, created_at)
select 'site_' || lpad(to_hex(n), 26, '0'),
       coalesce($1, 'client_' || lpad(to_hex(n % $2::int), 26, '0')), 'live', 'site-' || n,
       n || '.example', 'static', 'static', 'us-east', 'running', now()
from generate_series($3::int, $4::int) n
"""
_ENVIRONMENTS = """
insert into environments (id, site_id, type, subdomain, status, created_at)
select 'env_' || substr(id, 6), id, 'production', slug, 'running', now() from sites
on conflict do nothing
"""
_DOMAINS = """
insert into domains (id, hostname, site_id, env_id, mode, is_primary, status, challenge, verified_at,
  pending_since, created_at)
select 'dom_' || substr(id, 6), domain, id, 'env_' || substr(id, 6), 'live', true, 'verified', '', now(),
  now(), now() from sites
on conflict do nothing
"""


class Account(msgspec.Struct, frozen=True):
    account_id: str
    api_key: str


class Server:
    """A process that serves HTTP."""

    def __init__(self, argv: list[str], url: str, env: Mapping[str, str], output: IO[bytes]) -> None:
        self.url = url
        # A program started with `-m` first imports from its working directory.
        self._process = subprocess.Popen(
            [*server_core(), *argv], env=env, cwd=_ROOT, stdout=output, stderr=output, start_new_session=True
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait_until_ready(self, path: str) -> None:
        """Waits until the response is 200 and reports no engine as down. With an engine down, something else
        would be measured."""
        async with httpx.AsyncClient(base_url=self.url) as client:
            for _ in range(int(READY_TIMEOUT / 0.1)):
                if self._process.poll() is not None:
                    break
                try:
                    response = await client.get(path)
                except httpx.TransportError:
                    response = None
                if response is not None and response.status_code == 200 and b"false" not in response.content:
                    return
                await asyncio.sleep(0.1)
        raise CouldNotRun(f"{self.url} did not start")

    async def stop(self) -> None:
        self._process.terminate()
        try:
            await asyncio.to_thread(self._process.wait, STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


class Bench:
    """Running engines, and servers that use them."""

    def __init__(self, stack: RunningStack, scratch: Path, ending: AsyncExitStack) -> None:
        self._stack, self._scratch, self._ending = stack, scratch, ending

    @property
    def scratch(self) -> Path:
        return self._scratch

    @property
    def database_url(self) -> str:
        return self._stack[Postgres].url

    @property
    def _environment(self) -> dict[str, str]:
        return clean_environment(self._stack.environment())

    async def prepare(self) -> None:
        await self._steadctl("migrate")
        await self._execute(_UNLIMITED)

    async def create_account(self, name: str, *, keys: int) -> Account:
        """Creates an account without limits, with this many keys in addition to the one that is returned."""
        words = ["--email", f"{name}@example.com", "--name", name, "--plan", "unlimited", "--with-key"]
        account = msgspec.json.decode(await self._steadctl("accounts", "create", *words), type=Account)
        await self._execute(_KEYS, account.account_id, keys)
        await self._execute("vacuum analyze api_keys")
        return account

    async def add_sites(self, account: str, count: int) -> None:
        """Adds sites of an account, which are older than those of others."""
        await self._add_sites(self.database_url, account, 1, first=1, last=count)

    async def add_others(self, database_url: str, *, owners: int, sites: int) -> None:
        """Adds accounts, and sites that belong to them in turn."""
        await self._execute(_OTHER_ACCOUNTS, owners, database_url=database_url)
        await self._add_sites(database_url, None, owners, first=1_000_000, last=1_000_000 + sites - 1)

    async def _add_sites(
        self, database_url: str, account: str | None, owners: int, *, first: int, last: int
    ) -> None:
        await self._execute(_SITES, account, owners, first, last, database_url=database_url)
        for statement in (_ENVIRONMENTS, _DOMAINS, "vacuum analyze"):
            await self._execute(statement, database_url=database_url)

    @asynccontextmanager
    async def copied_database(self, name: str) -> AsyncIterator[str]:
        """The address of a copy of the database. No server may be connected to the database meanwhile."""
        postgres = self._stack[Postgres]
        admin = postgres.database_url("postgres")
        await self._execute(f"create database {name} template {DATABASE}", database_url=admin)
        try:
            yield postgres.database_url(name)
        finally:
            await self._execute(f"drop database {name} with (force)", database_url=admin)

    async def start_api(self, database_url: str | None = None) -> Server:
        port, metrics = reserve_ports(2)
        url = f"http://{LOOPBACK}:{port}"
        settings = {"STEAD_API_PORT": str(port), "STEAD_METRICS_PORT": str(metrics), "STEAD_BASE_URL": url}
        if database_url is not None:
            settings["STEAD_DATABASE_URL"] = database_url
        return await self._serve([*_STEADCTL, "api"], url, "/readyz", self._environment | settings)

    async def start_bare_handler(self, account: Account) -> Server:
        (port,) = reserve_ports(1)
        argv = [
            sys.executable,
            "-m",
            "bench.bare_handler",
            self._stack[Postgres].url,
            str(port),
            account.account_id,
        ]
        return await self._serve(argv, f"http://{LOOPBACK}:{port}", "/keys", dict(os.environ))

    async def delete_accounts(self) -> None:
        """Deletes all accounts, so that the lists of the next benchmark contain only its own rows."""
        # The trigger that protects finished jobs would also protect the accounts, although there are no jobs.
        await self._execute(
            "alter table jobs disable trigger user; truncate accounts cascade;"
            " alter table jobs enable trigger user"
        )

    async def _serve(self, argv: list[str], url: str, ready: str, env: Mapping[str, str]) -> Server:
        output = self._ending.enter_context((self._scratch / "servers.log").open("ab"))
        server = Server(argv, url, env, output)
        self._ending.push_async_callback(server.stop)
        await server.wait_until_ready(ready)
        return server

    async def _execute(self, statement: str, *args: object, database_url: str | None = None) -> None:
        connection = await asyncpg.connect(database_url or self.database_url)
        try:
            await connection.execute(statement, *args)
        finally:
            await connection.close()

    async def _steadctl(self, *words: str) -> str:
        completed = await run([*_STEADCTL, *words], env=self._environment, cwd=_ROOT)
        if completed.code != 0:
            raise CouldNotRun(f"steadctl {words[0]} failed: {completed.errors.strip()}")
        return completed.output


def _create_scratch() -> Path:
    path = Path(tempfile.mkdtemp(prefix="stead-bench-"))
    # PostgreSQL may run as another user, who must be able to enter the directory.
    path.chmod(0o711)
    return path


@asynccontextmanager
async def run_bench() -> AsyncIterator[Bench]:
    scratch = _create_scratch()
    try:
        async with run_stack(scratch, [Postgres, Redis, Nats]) as stack, AsyncExitStack() as ending:
            bench = Bench(stack, scratch, ending)
            await bench.prepare()
            yield bench
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
