"""Stead as a whole: an API, two workers and a node as processes, on engines of their own."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import asyncpg
import httpx
import msgspec
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from stead.control.engines.postgres import Database
from stead.dev.engines.nats import Nats
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_NODE
from stead.dev.programs import Repositories
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program as Role
from stead.shared.clock import wall_clock
from tests.faults.jobs.job_watcher import FINAL, JobWatcher
from tests.faults.jobs.node import STEADCTL, Node
from tests.faults.jobs.programs import BOUND, Program, python_path, until
from tests.patience import Patience
from tests.people import EVERY_SCOPE
from tests.preloaded.processes import run

Mode = Literal["live", "test"]

LIMITED = (sys.executable, "-m", "tests.faults.jobs.limited_worker")
PLAN = (
    "insert into plans values"
    " ('{name}', 'For tests', 10000, 10000, 1000, {jobs}, 1000, 60000000, 60000000, 60000000, 60000000)"
)
SETTINGS = {
    # Steps that a test blocks keep a connection each, and must not keep other jobs from theirs.
    "STEAD_DATABASE_CONNECTIONS": "48",
    # While a test stops nginx, jobs wait for it however slow the machine is.
    "STEAD_EDGE_PATIENCE": "600",
}
"""Of workers."""


class Harness:
    def __init__(self, stack: RunningStack) -> None:
        self.stack = stack
        settings, logs = stack.environment(Role.WORKER) | SETTINGS, stack.directory.logs
        self.api = Program([*STEADCTL, "api"], stack.environment(Role.API), logs / "api.log")
        # The first worker answers health checks.
        health = {"STEAD_WORKER_PORT": str(stack.ports["worker_health"])}
        self.workers = [
            Program([*STEADCTL, "worker"], settings | more, logs / f"worker-{n}.log")
            for n, more in ((1, health), (2, {}))
        ]
        self.limited = Program(LIMITED, settings | {"PYTHONPATH": python_path()}, logs / "limited.log")
        self.node = Node(stack, LOCAL_NODE, stack.node_data)
        self.database = Database(stack[Postgres].url, clock=wall_clock, size=4, timeout=120)
        """Like a worker's, to queue jobs that no operation queues."""
        self.client = httpx.AsyncClient(timeout=120)
        self._keys: dict[Mode, str] = {}
        self._connection: Any = None
        self._one_at_a_time = asyncio.Lock()
        self._watcher = JobWatcher(self.sql)

    async def sql(self, statement: str, *args: object) -> list[Any]:
        """Execute a statement on a connection of the tests' own."""
        async with self._one_at_a_time:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self.connect()
            return list(await self._connection.fetch(statement, *args))

    async def connect(self) -> Any:
        connection: Any = await asyncpg.connect(self.stack[Postgres].url)
        await connection.set_type_codec(
            "jsonb",
            schema="pg_catalog",
            encoder=lambda value: msgspec.json.encode(value).decode(),
            decoder=msgspec.json.decode,
        )
        return connection

    async def lock_queue(self) -> Any:
        """Keep every worker from claiming jobs until the connection that this returns is closed."""
        connection = await self.connect()
        await connection.fetch("select pg_advisory_lock(hashtext('jobs.claim'))")
        return connection

    async def temporal(self) -> Client:
        return await Client.connect(self.stack[Temporal].address)

    async def ask(self, method: str, path: str, body: object = None, *, status: int = 202) -> dict[str, Any]:
        """As a client asks: again, if nothing was changed because the database was too busy."""
        patience = Patience(BOUND)
        answer = await self.client.request(method, path, json=body)
        while '"database.timeout"' in answer.text and not patience.is_over:
            await asyncio.sleep(float(answer.headers["retry-after"]))
            answer = await self.client.request(method, path, json=body)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        document: dict[str, Any] = answer.json() if answer.content else {}
        return document.get("data") or document

    async def read_list(self, path: str) -> list[dict[str, Any]]:
        answer = await self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return list(answer.json()["data"])

    async def ended(self, *jobs: str, bound: float = BOUND) -> None:
        """Wait until every one of these jobs is in a final state."""
        if await self._watcher.wait(jobs, bound=bound):
            left = await self.sql(
                "select id, params ->> 'kind', status, cancel_sent_at from jobs"
                " where id = any($1) and status <> all($2)",
                jobs,
                FINAL,
            )
            described = [await self.describe_job(row["id"]) for row in left]
            raise AssertionError(f"not within {bound:g} s of an idle machine: the end of {left}\n{described}")

    async def describe_job(self, job: str) -> str:
        """Describe what the workflow and the node know about a job."""
        handle = (await self.temporal()).get_workflow_handle(job)
        events = [
            f"{event.event_time.ToDatetime():%M:%S.%f} {EventType.Name(event.event_type)[11:]}"
            for event in (await handle.fetch_history()).events
        ]
        pending = (await handle.describe()).raw_description.pending_activities
        return "\n".join([*events, *map(str, pending), str(self.node.steps(job))])

    async def begin(self) -> None:
        """Migrate, create an account with keys, start the programs, and wait for the node's heartbeat."""
        await self._steadctl("migrate")
        created = await self._steadctl(
            *("accounts", "create", "--email", "a@example.com", "--name", "A", "--plan", "business"),
            "--with-key",
        )
        await self.stack.enrol_node(self.node.id)
        await self.sql(PLAN.format(name="unlimited", jobs=1000))
        await self.sql("update accounts set plan = 'unlimited'")
        self.api.start()
        for worker in self.workers:
            worker.start()
        self.node.start()
        self.client.base_url = httpx.URL(self.stack.environment()["STEAD_BASE_URL"])
        self._keys["live"] = msgspec.json.decode(created)["api_key"]
        self.speak_as("live")
        await until(self._ready, "the API answers")
        key = await self.ask("POST", "/v1/api-keys", {"scopes": EVERY_SCOPE, "mode": "test"}, status=201)
        self._keys["test"] = key["secret"]
        self.speak_as("test")
        await until(
            lambda: self.sql("select from nodes where last_seen_at is not null"), "the node was heard"
        )

    def speak_as(self, mode: Mode) -> None:
        """Create live sites from now on, or simulated ones."""
        self.client.headers["authorization"] = f"Bearer {self._keys[mode]}"

    async def _ready(self) -> bool:
        try:
            return (await self.client.get("/readyz")).is_success
        except httpx.TransportError:
            return False

    async def _steadctl(self, *words: str) -> str:
        done = await run([*STEADCTL, *words], env=clean_environment(self.stack.environment()))
        assert done.code == 0, done.errors
        return done.output

    async def kill_workers(self) -> None:
        for worker in self.workers:
            await worker.kill()

    def start_workers(self, **settings: str) -> None:
        for worker in self.workers:
            worker.start(**settings)

    async def restart_workers(self, **settings: str) -> None:
        """Restart them with some settings changed. When they have nothing to do, killing them is faster."""
        await self.kill_workers()
        self.start_workers(**settings)

    async def end(self) -> None:
        await self.client.aclose()
        await self.database.close()
        for program in (self.node.program, self.api, self.limited, *self.workers):
            await program.kill()
        if self._connection is not None:
            self._connection.terminate()


def _new_directory() -> Path:
    # Not pytest's own temporary directory: PostgreSQL's user could not enter it.
    data = Path(tempfile.mkdtemp(prefix="stead-jobs-"))
    data.chmod(0o711)
    return data


@asynccontextmanager
async def everything() -> AsyncIterator[Harness]:
    data = _new_directory()
    try:
        # Durable: an engine that is killed must still have everything it acknowledged when it is back.
        async with run_stack(
            data, [Postgres, Redis, Nats, Temporal, SeaweedFS, Nginx, Repositories], durable=True
        ) as stack:
            await stack.add_node(LOCAL_NODE)
            harness = Harness(stack)
            try:
                await harness.begin()
                yield harness
            finally:
                await harness.end()
    finally:
        # Set FAULTS_KEEP to keep the logs of the programs.
        if "FAULTS_KEEP" not in os.environ:
            await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)
