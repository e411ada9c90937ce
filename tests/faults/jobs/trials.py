"""Runs a case: prepares a site, starts its job, holds the job in the step of the case, and lets it go on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg
import httpx

from tests.faults.jobs.cases import WANTED, Case
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import JobStep
from tests.faults.jobs.outcomes import Outcome, observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.rotation import meets_fault
from tests.faults.jobs.scenarios import has_scenario
from tests.faults.jobs.sites import SiteUnderTest

T = TypeVar("T")

BATCH = 38
"""How many jobs are held at the same time."""
PREPARED_AT_ONCE = 16
END_BOUND = 90.0
FIXTURES: list[str] = []
"""What pytest sets up at the moment. The last one runs the cases, and is named after its fault."""


@dataclass
class Trial:
    case: Case
    site: SiteUnderTest
    job: str = ""
    blocker: Any = None
    """The connection that blocks the control step of the case."""
    pid: int = 0
    """The process of the step of the case on the node."""
    site_before: dict[str, Any] = field(default_factory=dict)
    """The row of the site when the job was started."""
    outcome: Outcome | None = None
    note: Any = None
    """What a fixture recorded for its tests."""
    error: BaseException | None = None
    """Why there is no outcome."""
    follow_up_status: str = ""
    """How the next job of the same site ended."""

    @property
    def job_step(self) -> JobStep:
        return self.job, self.case.position

    @property
    def result(self) -> Outcome:
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome


class Trials:
    def __init__(self, trials: Iterable[Trial]) -> None:
        self._trials = {trial.case: trial for trial in trials}

    def __getitem__(self, case: Case) -> Trial:
        assert case.scenario
        return self._trials[case]


Before = Callable[[Trial], Awaitable[None]]
"""Called for each job after it was queued and before a worker can claim it."""
Run = Callable[[Sequence[Case]], Awaitable[Sequence[Trial]]]


async def run_in_batches(cases: Iterable[Case], run: Run, *, size: int = BATCH) -> Trials:
    """Run the cases that tests of this run need, a batch at a time. An error in one batch is the error of its
    cases only."""
    known = [
        case
        for case in cases
        if case.workflow.name in WANTED and has_scenario(case.workflow) and meets_fault(case, FIXTURES[-1])
    ]
    trials: list[Trial] = []
    for batch in in_groups(known, size):
        try:
            trials += await run(batch)
        except (AssertionError, TimeoutError, OSError, httpx.HTTPError) as error:
            trials += [Trial(case, SiteUnderTest(""), error=error) for case in batch]
    return Trials(trials)


def in_groups(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Groups of nearly the same size, and of at most this size."""
    number = -(-len(items) // size)
    return [items[n::number] for n in range(number)]


async def prepare(harness: Harness, cases: Iterable[Case]) -> list[Trial]:
    """Create a site for each case, in the state that its job starts from."""
    await harness.node.set_step_seconds(0)
    slots = asyncio.Semaphore(PREPARED_AT_ONCE)

    async def prepare_one(case: Case) -> Trial:
        async with slots:
            return Trial(case, await case.scenario.prepare(harness))

    return await asyncio.gather(*map(prepare_one, cases))


async def start(harness: Harness, trials: Sequence[Trial], before: Before | None = None) -> None:
    """Start every job. Workers claim them once `before` was called for each."""
    queue = await harness.lock_queue()
    try:
        for trial in trials:
            rows = await harness.sql("select * from sites where id = $1", trial.site.id)
            trial.site_before = dict(rows[0]) if rows else {}
            trial.job = await trial.case.scenario.start(harness, trial.site)
            if before is not None:
                await before(trial)
    finally:
        queue.terminate()


@asynccontextmanager
async def holding(
    harness: Harness,
    cases: Iterable[Case],
    *,
    before: Before | None = None,
    prepared: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[list[Trial]]:
    """Start a job for each case, and hold it in the step of the case until the block ends or `release`.
    `prepared` is called before the first job is started. `before` holds the cases of steps that are done."""
    trials = await prepare(harness, cases)
    if prepared is not None:
        await prepared()
    on_node = [trial for trial in trials if trial.case.is_on_node and not trial.case.done]

    async def prepare_hold(trial: Trial) -> None:
        if before is not None:
            await before(trial)
        if trial.case.done:
            return
        if trial.case.is_on_node:
            harness.node.hold(it.job_step for it in on_node if it.job)
        else:
            # Every control step inserts this row first, and waits while another transaction has inserted it.
            trial.blocker = await harness.connect()
            await trial.blocker.execute("begin")
            await trial.blocker.execute("insert into job_steps values ($1, $2)", *trial.job_step)

    try:
        await start(harness, trials, prepare_hold)
        await harness.node.wait_until_held([trial.job_step for trial in on_node])
        for trial in on_node:
            trial.pid = harness.node.held[trial.job_step]
        await until(_all_blocked, "every control step waits for its lock", harness, trials)
        yield trials
    finally:
        await release(harness, *trials)


async def _all_blocked(harness: Harness, trials: Sequence[Trial]) -> bool:
    blockers = {trial.blocker.get_server_pid() for trial in trials if trial.blocker is not None}
    return blockers <= (await blocked_ports(harness)).keys()


async def blocked_ports(harness: Harness) -> dict[int, set[int]]:
    """The client ports of blocked connections, by the process of the connection that blocks them."""
    rows = await harness.sql(
        "select unnest(pg_blocking_pids(pid)), client_port from pg_stat_activity"
        " where wait_event_type = 'Lock'"
    )
    found: dict[int, set[int]] = {}
    for blocker, port in rows:
        found.setdefault(blocker, set()).add(port)
    return found


async def release(harness: Harness, *trials: Trial) -> None:
    """Let held jobs go on."""
    for trial in trials:
        harness.node.release(trial.job_step)
        if trial.blocker is not None:
            # The server may have been killed, which the library reports in several ways.
            with suppress(
                asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError
            ):
                await trial.blocker.execute("rollback")
            trial.blocker.terminate()
            trial.blocker = None


def halves(trials: Sequence[Trial]) -> tuple[Sequence[Trial], Sequence[Trial]]:
    """The steps of one half end while something is down, those of the other when it is back."""
    return trials[::2], trials[1::2]


async def conclude(harness: Harness, trials: Sequence[Trial]) -> None:
    """Wait for every job and record its outcome, or the error that there is instead of an outcome."""
    bound = END_BOUND
    for trial in trials:
        try:
            await harness.ended(trial.job, bound=bound)
            trial.outcome = await observe(harness, trial.job)
        except AssertionError as error:
            trial.error, bound = error, 1.0


async def follow_up(harness: Harness, trials: Iterable[Trial]) -> None:
    """Run another job on each site: the failed one no longer locks it, and left it in a usable state."""
    await asyncio.gather(*(_follow_up(harness, trial) for trial in trials if trial.error is None))


async def _follow_up(harness: Harness, trial: Trial) -> None:
    try:
        job = await trial.case.scenario.follow_up(harness, trial.site)
        await harness.ended(job)
        ((trial.follow_up_status,),) = await harness.sql("select status from jobs where id = $1", job)
    except AssertionError as error:
        trial.error = error


async def cancel(harness: Harness, job: str, *, status: int = 202) -> dict[str, Any]:
    return await harness.ask("POST", f"/v1/jobs/{job}/cancel", status=status)


async def wait_until_cancellation_sent(harness: Harness, *trials: Trial) -> None:
    jobs = [trial.job for trial in trials]

    async def look() -> bool:
        return not await harness.sql(
            "select from jobs where id = any($1) and cancel_sent_at is null"
            " and status in ('queued', 'running')",
            jobs,
        )

    await until(look, "every cancellation was sent")
