"""The time from a request until the first step of its job begins on a node, compared with bare Temporal.

`python -m bench.job_start ADDRESS` is the worker of the bare workflow. Its activity returns its start time.
"""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import asyncpg
import httpx
import msgspec
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.results import CouldNotRun, Result, spread
from bench.servers import Account, Bench
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.temporal import Temporal
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.subprocesses import run
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program

GOAL = 1.5
PAIRS, WARM_UP = 30, 3
TIMEOUT, STOP_TIMEOUT = 30.0, 15.0
QUEUE = "bare"
NODE = "node-1"
FIRST_STEP = "environment"
"""The first step of a new site that runs on a node."""
_STEADCTL = [sys.executable, "-m", "stead.steadctl"]
_ROOT = Path(__file__).parents[1]
_PLAN = (
    "insert into plans values"
    " ('unlimited', 'For benchmarks', 1000, 1000, 1000, 1000, 1000, 60000000, 60000000, 60000000, 60000000)"
)

T = TypeVar("T")


@activity.defn(name="begin")
async def begin() -> float:
    return time.time()


@workflow.defn(name="bare")
class BareWorkflow:
    @workflow.run
    async def run(self) -> float:
        return await workflow.execute_activity(begin, start_to_close_timeout=timedelta(seconds=30))


@dataclass(frozen=True)
class Start:
    """Milliseconds from the request to each stage, in order."""

    answered: float
    claimed: float
    workflow: float
    dispatched: float
    began: float


class FullStack:
    """All programs of Stead, and a client with a test key."""

    def __init__(self, stack: RunningStack, api: httpx.AsyncClient, database: Any, temporal: Client) -> None:
        self._stack, self._api, self._database, self._temporal = stack, api, database, temporal
        self._count = 0

    async def start_job(self) -> Start:
        """Creates a site, waits until its job has finished, and reads when each stage was reached."""
        self._count += 1
        requested = time.time()
        response = await self._api.post(
            "/v1/sites", json={"domain": f"bench-{self._count}.example.com", "profile": "static"}
        )
        answered = time.time()
        if response.status_code != 202:
            raise CouldNotRun(f"a site was not accepted: {response.text}")
        job = str(response.json()["data"]["id"])
        row = await _wait_until(lambda: self._read_finished(job), f"{job} finished")
        if row["status"] != "succeeded":
            raise CouldNotRun(f"{job} failed: {row['error']}")
        started, scheduled = await self._read_history(job)
        moments = (answered, row["dispatched_at"].timestamp(), started, scheduled, self._read_start(job))
        return Start(*(1000 * (moment - requested) for moment in moments))

    async def start_bare(self) -> float:
        requested = time.time()
        began = await self._temporal.execute_workflow(
            BareWorkflow.run,
            id=f"bare-{self._count}-{requested}",
            task_queue=QUEUE,
            task_timeout=timedelta(seconds=5),
        )
        return 1000 * (began - requested)

    async def _read_finished(self, job: str) -> Any:
        return await self._database.fetchrow(
            "select status, dispatched_at, error from jobs"
            " where id = $1 and status in ('succeeded', 'failed')",
            job,
        )

    async def _read_history(self, job: str) -> tuple[float, float]:
        """Returns when the workflow started, and when its first node step was handed to the worker."""
        started = scheduled = 0.0
        async for event in self._temporal.get_workflow_handle(job).fetch_history_events():
            at: datetime = event.event_time.ToDatetime(tzinfo=UTC)
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
                started = at.timestamp()
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
                scheduled = at.timestamp()
                break
        return started, scheduled

    def _read_start(self, job: str) -> float:
        """Returns when the node wrote the step to its journal, which is when it begins."""
        journal = self._stack.directory.home(NODE) / "journal.sqlite"
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
            query = "select taken_at from steps where job = ? and step = ?"
            return float(database.execute(query, (job, FIRST_STEP)).fetchone()[0])


async def compare_starts(_: Bench) -> Result:
    async with _run_full_stack() as full:
        for _warm_up in range(WARM_UP):
            await full.start_job()
            await full.start_bare()
        jobs, bare = [], []
        for pair in range(PAIRS):
            for with_job in (True, False) if pair % 2 else (False, True):
                if with_job:
                    jobs.append(await full.start_job())
                else:
                    bare.append(await full.start_bare())
    value = median(each.began for each in jobs) / median(bare)
    pairs = [job.began / base for job, base in zip(jobs, bare, strict=True)]
    return Result(value, GOAL, [f"pairs {spread(pairs)}", *_breakdown(jobs), f"bare {_milliseconds(bare)}"])


def _breakdown(starts: list[Start]) -> list[str]:
    stages = {
        "POST answered": "answered",
        "claimed": "claimed",
        "workflow started": "workflow",
        "first step dispatched": "dispatched",
        "node began": "began",
    }
    return [
        f"{name} {_milliseconds([getattr(each, field) for each in starts])}" for name, field in stages.items()
    ]


def _milliseconds(values: list[float]) -> str:
    return f"after {median(values):.1f} ms, {min(values):.1f} to {max(values):.1f}"


@asynccontextmanager
async def _run_full_stack() -> AsyncIterator[FullStack]:
    scratch = _create_scratch()
    try:
        async with (
            run_stack(scratch, [Postgres, Redis, Nats, Temporal]) as stack,
            AsyncExitStack() as exits,
        ):
            yield await _start(stack, exits)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _create_scratch() -> Path:
    path = Path(tempfile.mkdtemp(prefix="stead-bench-jobs-"))
    # PostgreSQL may run as another user, who must be able to enter the directory.
    path.chmod(0o711)
    return path


async def _start(stack: RunningStack, exits: AsyncExitStack) -> FullStack:
    api, worker = stack.environment(Program.API), stack.environment(Program.WORKER)
    await _steadctl(api, "migrate")
    words = ["--email", "starter@example.com", "--name", "starter", "--plan", "business", "--with-key"]
    account = msgspec.json.decode(await _steadctl(api, "accounts", "create", *words), type=Account)
    database = await asyncpg.connect(stack[Postgres].url)
    exits.push_async_callback(database.close)
    await database.execute(_PLAN)
    await database.execute("update accounts set plan = 'unlimited'")
    await stack.add_node(NODE)
    await stack.enrol_node(NODE)
    node = stack.node_environment(NODE, stack.directory.home(NODE)) | {"STEAD_NODE_CAPACITY": "100000"}
    log = stack.directory.logs / "bench.log"
    for settings, words in ((api, ["api"]), (worker, ["worker"]), (node, ["node"])):
        _start_program([*_STEADCTL, *words], settings, log, exits)
    _start_program([sys.executable, "-m", "bench.job_start", stack[Temporal].address], {}, log, exits)
    client = httpx.AsyncClient(base_url=api["STEAD_BASE_URL"], timeout=TIMEOUT)
    exits.push_async_callback(client.aclose)
    await _wait_until(lambda: _is_ready(client), "the API is ready")
    await _wait_until(
        lambda: database.fetchval("select count(last_seen_at) from nodes"), "the node sends heartbeats"
    )
    client.headers["authorization"] = f"Bearer {account.api_key}"
    minted = await client.post("/v1/api-keys", json={"scopes": ["*"], "mode": "test"})
    client.headers["authorization"] = f"Bearer {minted.json()['data']['secret']}"
    return FullStack(stack, client, database, await Client.connect(stack[Temporal].address))


def _start_program(argv: list[str], settings: Mapping[str, str], log: Path, exits: AsyncExitStack) -> None:
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            env=clean_environment(settings),
            cwd=_ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    exits.push_async_callback(_stop, process)


async def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)


async def _steadctl(settings: Mapping[str, str], *words: str) -> str:
    completed = await run([*_STEADCTL, *words], env=clean_environment(settings), cwd=_ROOT)
    if completed.code != 0:
        raise CouldNotRun(f"steadctl {words[0]} failed: {completed.errors.strip()}")
    return completed.output


async def _is_ready(client: httpx.AsyncClient) -> bool:
    try:
        response = await client.get("/readyz")
    except httpx.TransportError:
        return False
    return response.status_code == 200 and b"false" not in response.content


async def _wait_until(check: Callable[[], Awaitable[T]], what: str) -> T:
    deadline = time.monotonic() + TIMEOUT
    while not (found := await check()):
        if time.monotonic() > deadline:
            raise CouldNotRun(f"not within {TIMEOUT:g} s: {what}")
        await asyncio.sleep(0.02)
    return found


async def _run_worker(address: str) -> None:
    client = await Client.connect(address)
    runner = UnsandboxedWorkflowRunner()
    await Worker(
        client, task_queue=QUEUE, workflows=[BareWorkflow], activities=[begin], workflow_runner=runner
    ).run()


if __name__ == "__main__":
    asyncio.run(_run_worker(sys.argv[1]))
