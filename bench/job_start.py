"""How long after a request the first step of its job begins on a node, against the bare engine's own start.

`python -m bench.job_start ADDRESS` is the worker of the bare workflow: one activity that says when it began.
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
BOUND, STOP_BOUND = 30.0, 15.0
QUEUE = "bare"
NODE = "node-1"
FIRST_STEP = "environment"
"""The first step of a new site that a node carries out."""
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
class Bare:
    @workflow.run
    async def run(self) -> float:
        return await workflow.execute_activity(begin, start_to_close_timeout=timedelta(seconds=30))


@dataclass(frozen=True)
class Start:
    """Milliseconds from the request to each stage, in their order."""

    answered: float
    claimed: float
    workflow: float
    asked: float
    began: float


class Whole:
    """The whole of Stead, and somebody with a test key."""

    def __init__(self, stack: RunningStack, api: httpx.AsyncClient, database: Any, temporal: Client) -> None:
        self._stack, self._api, self._database, self._temporal = stack, api, database, temporal
        self._count = 0

    async def start_job(self) -> Start:
        """Create a site, wait until its job has ended, and look up when each stage was reached."""
        self._count += 1
        asked = time.time()
        answer = await self._api.post(
            "/v1/sites", json={"domain": f"bench-{self._count}.example.com", "profile": "static"}
        )
        answered = time.time()
        if answer.status_code != 202:
            raise CouldNotRun(f"a site was not accepted: {answer.text}")
        job = str(answer.json()["data"]["id"])
        row = await _until(lambda: self._ended(job), f"{job} ended")
        if row["status"] != "succeeded":
            raise CouldNotRun(f"{job} failed: {row['error']}")
        started, scheduled = await self._history(job)
        moments = (answered, row["dispatched_at"].timestamp(), started, scheduled, self._began(job))
        return Start(*(1000 * (moment - asked) for moment in moments))

    async def start_bare(self) -> float:
        asked = time.time()
        began = await self._temporal.execute_workflow(
            Bare.run, id=f"bare-{self._count}-{asked}", task_queue=QUEUE, task_timeout=timedelta(seconds=5)
        )
        return 1000 * (began - asked)

    async def _ended(self, job: str) -> Any:
        return await self._database.fetchrow(
            "select status, dispatched_at, error from jobs"
            " where id = $1 and status in ('succeeded', 'failed')",
            job,
        )

    async def _history(self, job: str) -> tuple[float, float]:
        """When the workflow was started, and when its first node step was handed to the worker."""
        started = scheduled = 0.0
        async for event in self._temporal.get_workflow_handle(job).fetch_history_events():
            at: datetime = event.event_time.ToDatetime(tzinfo=UTC)
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
                started = at.timestamp()
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
                scheduled = at.timestamp()
                break
        return started, scheduled

    def _began(self, job: str) -> float:
        """When the node took the step down, which is when it begins."""
        journal = self._stack.directory.home(NODE) / "journal.sqlite"
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
            query = "select taken_at from steps where job = ? and step = ?"
            return float(database.execute(query, (job, FIRST_STEP)).fetchone()[0])


async def ratio(_: Bench) -> Result:
    async with _whole() as whole:
        for _warm_up in range(WARM_UP):
            await whole.start_job()
            await whole.start_bare()
        ours, bare = [], []
        for pair in range(PAIRS):
            for mine in (True, False) if pair % 2 else (False, True):
                if mine:
                    ours.append(await whole.start_job())
                else:
                    bare.append(await whole.start_bare())
    value = median(each.began for each in ours) / median(bare)
    pairs = [mine.began / base for mine, base in zip(ours, bare, strict=True)]
    return Result(value, GOAL, [f"pairs {spread(pairs)}", *_breakdown(ours), f"bare {_milliseconds(bare)}"])


def _breakdown(starts: list[Start]) -> list[str]:
    stages = {
        "POST answered": "answered",
        "claimed": "claimed",
        "workflow started": "workflow",
        "first step asked": "asked",
        "node began": "began",
    }
    return [
        f"{name} {_milliseconds([getattr(each, field) for each in starts])}" for name, field in stages.items()
    ]


def _milliseconds(values: list[float]) -> str:
    return f"after {median(values):.1f} ms, {min(values):.1f} to {max(values):.1f}"


@asynccontextmanager
async def _whole() -> AsyncIterator[Whole]:
    scratch = _scratch()
    try:
        async with (
            run_stack(scratch, [Postgres, Redis, Nats, Temporal]) as stack,
            AsyncExitStack() as ending,
        ):
            yield await _start(stack, ending)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-bench-jobs-"))
    # PostgreSQL may run as another user, who must be able to pass through.
    made.chmod(0o711)
    return made


async def _start(stack: RunningStack, ending: AsyncExitStack) -> Whole:
    api, worker = stack.environment(Program.API), stack.environment(Program.WORKER)
    await _steadctl(api, "migrate")
    words = ["--email", "starter@example.com", "--name", "starter", "--plan", "business", "--with-key"]
    account = msgspec.json.decode(await _steadctl(api, "accounts", "create", *words), type=Account)
    database = await asyncpg.connect(stack[Postgres].url)
    ending.push_async_callback(database.close)
    await database.execute(_PLAN)
    await database.execute("update accounts set plan = 'unlimited'")
    await stack.add_node(NODE)
    node = stack.node_environment(NODE, stack.directory.home(NODE)) | {"STEAD_NODE_CAPACITY": "100000"}
    log = stack.directory.logs / "bench.log"
    for settings, words in ((api, ["api"]), (worker, ["worker"]), (node, ["node"])):
        _program([*_STEADCTL, *words], settings, log, ending)
    _program([sys.executable, "-m", "bench.job_start", stack[Temporal].address], {}, log, ending)
    client = httpx.AsyncClient(base_url=api["STEAD_BASE_URL"], timeout=BOUND)
    ending.push_async_callback(client.aclose)
    await _until(lambda: _answers(client), "the API answers")
    await _until(lambda: database.fetchval("select count(*) from nodes"), "the node is heard")
    client.headers["authorization"] = f"Bearer {account.api_key}"
    minted = await client.post("/v1/api-keys", json={"scopes": ["*"], "mode": "test"})
    client.headers["authorization"] = f"Bearer {minted.json()['data']['secret']}"
    return Whole(stack, client, database, await Client.connect(stack[Temporal].address))


def _program(argv: list[str], settings: Mapping[str, str], log: Path, ending: AsyncExitStack) -> None:
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            env=clean_environment(settings),
            cwd=_ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    ending.push_async_callback(_stop, process)


async def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, STOP_BOUND)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)


async def _steadctl(settings: Mapping[str, str], *words: str) -> str:
    done = await run([*_STEADCTL, *words], env=clean_environment(settings), cwd=_ROOT)
    if done.code != 0:
        raise CouldNotRun(f"steadctl {words[0]} failed: {done.errors.strip()}")
    return done.output


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        answer = await client.get("/readyz")
    except httpx.TransportError:
        return False
    return answer.status_code == 200 and b"false" not in answer.content


async def _until(look: Callable[[], Awaitable[T]], what: str) -> T:
    ends = time.monotonic() + BOUND
    while not (found := await look()):
        if time.monotonic() > ends:
            raise CouldNotRun(f"not within {BOUND:g} s: {what}")
        await asyncio.sleep(0.02)
    return found


async def _work(address: str) -> None:
    client = await Client.connect(address)
    runner = UnsandboxedWorkflowRunner()
    await Worker(client, task_queue=QUEUE, workflows=[Bare], activities=[begin], workflow_runner=runner).run()


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1]))
