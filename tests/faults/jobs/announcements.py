"""Jobs of live sites that are held while they announce a change to the edge, and what visitors get then."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from nats.js import JetStreamContext
from temporalio.client import WorkflowHandle

from tests.faults.jobs.cases import ANNOUNCING, Case
from tests.faults.jobs.checks import check_failed, check_site, check_succeeded
from tests.faults.jobs.edge import Edge, Visitor, visiting
from tests.faults.jobs.feed_records import FeedRecord, feed_connected, feed_records
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import Sight, View, view_of
from tests.faults.jobs.sites import SiteUnderTest
from tests.faults.jobs.trials import END_BOUND, Trial, Trials, follow_up, prepare, run_in_batches

Records = dict[str, FeedRecord]


@dataclass
class LiveTrial(Trial):
    visitor: Visitor = field(kw_only=True)
    records_before: Records = field(default_factory=dict)
    records_after: Records = field(default_factory=dict)
    sight_after: Sight | None = None
    """What a visitor gets after the job has ended."""

    @property
    def view(self) -> View:
        return view_of(self.case.workflow)


@dataclass
class Stage:
    """Jobs that have announced their change to an edge that is stopped."""

    harness: Harness
    edge: Edge
    trials: Sequence[LiveTrial]
    client: httpx.AsyncClient

    async def conclude(self) -> None:
        """Wait for every job and record its outcome, or the error that there is instead of an outcome."""
        bound = END_BOUND
        for trial in self.trials:
            try:
                await self.harness.ended(trial.job, bound=bound)
                trial.outcome = await observe(self.harness, trial.job)
                async with feed_connected(self.harness) as feed:
                    trial.records_after = await _records_of(self.harness, feed, trial.site)
            except AssertionError as error:
                trial.error, bound = error, 1.0

    async def visit(self) -> None:
        for trial in self.trials:
            trial.sight_after = await trial.visitor.visit(self.client)

    async def visit_until_old(self) -> None:
        """The edge was stopped until the jobs had failed: it learns of the withdrawal after it is resumed."""
        for trial in self.trials:
            await until(self._gets_old, f"a visitor gets the old of {trial.case} again", trial, bound=30)

    async def _gets_old(self, trial: LiveTrial) -> bool:
        trial.sight_after = await trial.visitor.visit(self.client)
        return trial.sight_after == trial.view.old


Fault = Callable[[Stage], Awaitable[None]]
"""What happens to the jobs, until they have ended and visitors have requested their pages once more."""


BeforeStart = Callable[[], Awaitable[None]]
"""Called when the sites are prepared, before the jobs are started."""


async def run_fault(
    harness: Harness,
    fault: Fault,
    *,
    before_start: BeforeStart | None = None,
    with_follow_up: bool = False,
    cases: Sequence[Case] = ANNOUNCING,
) -> Trials:
    """Run every case; optionally with another job of the same site, which waits for the failed one."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with announcing(harness, cases, before_start) as stage:
            await fault(stage)
        if with_follow_up:
            await follow_up(harness, stage.trials)
        return stage.trials

    return await run_in_batches(cases, run)


@asynccontextmanager
async def announcing(
    harness: Harness, cases: Sequence[Case], before_start: BeforeStart | None = None
) -> AsyncIterator[Stage]:
    edge = Edge(harness.stack)
    trials = [
        LiveTrial(
            trial.case,
            trial.site,
            visitor=Visitor(edge, trial.site.host, view_of(trial.case.workflow).path),
        )
        for trial in await prepare(harness, cases)
    ]
    if before_start is not None:
        await before_start()
    async with visiting(*(trial.visitor for trial in trials)) as client:
        await until(_all_have_visited, "every site was visited", trials)
        try:
            async with feed_connected(harness) as feed:
                await _start_and_stop_edge(harness, feed, edge, trials)
            yield Stage(harness, edge, trials, client)
        finally:
            edge.resume()


async def _start_and_stop_edge(
    harness: Harness, feed: JetStreamContext, edge: Edge, trials: Sequence[LiveTrial]
) -> None:
    for trial in trials:
        trial.records_before = await _records_of(harness, feed, trial.site)
    probing = [trial for trial in trials if trial.case.probes_first]
    async with _blocked_after_probing(harness, probing):
        edge.stop()
    for trial in trials:
        if trial not in probing:
            trial.job = await trial.case.scenario.start(harness, trial.site)
    for trial in trials:
        try:
            await until(_has_announced, f"{trial.case} has announced its change", harness, feed, trial)
        except AssertionError as error:
            error.add_note(await harness.describe_job(trial.job))
            raise


@asynccontextmanager
async def _blocked_after_probing(harness: Harness, trials: Sequence[LiveTrial]) -> AsyncIterator[None]:
    """Start jobs that send a request through the edge first, and block them where they record the change that
    they are going to announce."""
    connection = await harness.connect()
    try:
        await connection.execute("begin")
        sites = [trial.site.id for trial in trials]
        await connection.fetch("select from environments where site_id = any($1) for no key update", sites)
        for trial in trials:
            trial.job = await trial.case.scenario.start(harness, trial.site)

        async def all_blocked() -> bool:
            # A step that waits for too long is begun again, so two of them may wait for one environment. The
            # visits that the node reports wait too, and are no sign that the step has begun.
            waiting = await harness.sql(
                "select site_id from environments where ctid in (select format('(%s,%s)', page, tuple)::tid"
                " from pg_locks join pg_stat_activity using (pid) where locktype = 'tuple'"
                " and relation = 'environments'::regclass and query like 'update environments set release%')"
            )
            return set(sites) <= {site for (site,) in waiting}

        await until(all_blocked, "every job that sends a request first has sent it")
        yield
    finally:
        await connection.close()


async def _all_have_visited(trials: Sequence[LiveTrial]) -> bool:
    return all(trial.visitor.sights for trial in trials)


async def _records_of(harness: Harness, feed: JetStreamContext, site: SiteUnderTest) -> Records:
    rows = await harness.sql("select * from sites where id = $1", site.id)
    if not rows or (site.subdomain and not site.environment):
        # The job will create the site or the environment.
        return {}
    (environment,) = await harness.sql(
        "select * from environments where case when $2 = '' then site_id = $1 and type = 'production'"
        " else id = $2 end",
        site.id,
        site.environment,
    )
    return await feed_records(feed, rows[0], environment)


async def _has_announced(harness: Harness, feed: JetStreamContext, trial: LiveTrial) -> bool:
    now, before = await _records_of(harness, feed, trial.site), trial.records_before
    return any(it.revision > before.get(key, FeedRecord()).revision for key, it in now.items())


async def wait_until_withdrawing(stage: Stage) -> None:
    """Wait until every job, which was cancelled, withdraws its announcement, if it can be withdrawn."""
    temporal = await stage.harness.temporal()
    for trial in stage.trials:
        if trial.case.step.undo_announce is None:
            continue
        handle = temporal.get_workflow_handle(trial.job)
        await until(_is_undoing, f"{trial.case} withdraws its change", handle)


async def _is_undoing(handle: WorkflowHandle[Any, Any]) -> bool:
    pending = (await handle.describe()).raw_description.pending_activities
    return any(it.activity_type.name == "undo" and it.HasField("last_started_time") for it in pending)


def _values(records: Records) -> dict[str, Any]:
    """The records that exist, without those of purges, which cannot be withdrawn."""
    return {key: it.value for key, it in records.items() if ".purge." not in key and it.value is not None}


def live_trial(trials: Trials, case: Case) -> LiveTrial:
    """The trial of a case; a case whose batch failed raises the error of the batch."""
    found = trials[case]
    if found.error is not None:
        raise found.error
    assert isinstance(found, LiveTrial)
    return found


def _check_sights(trial: LiveTrial, *, edge_was_down: bool = False) -> None:
    assert trial.visitor.sights <= {trial.view.old, trial.view.new}
    assert edge_was_down or trial.visitor.unanswered == []


def check_announced(trial: LiveTrial, *, edge_was_down: bool = False) -> None:
    """The job succeeded, and visitors only ever got the old or the new, and now the new."""
    check_succeeded(trial.case, trial.result)
    _check_sights(trial, edge_was_down=edge_was_down)
    assert trial.sight_after == trial.view.new


def check_withdrawn(
    trial: LiveTrial, code: str, message: str, *, refused: bool = False, lost: bool = False
) -> None:
    """The job failed, visitors only ever got the old or the new, and now the old; so has the feed."""
    case, outcome = trial.case, trial.result
    check_failed(case, outcome, code, message, refused=refused, lost=lost)
    check_site(outcome, case.scenario.failed_in(case.step.name), reason=message)
    _check_sights(trial)
    assert trial.sight_after == trial.view.old
    if case.step.undo_announce is not None or trial.records_before:
        after, before = _values(trial.records_after), _values(trial.records_before)
        if case.step.name == "forget":
            # The site cannot be seen any more, and the next attempt has nothing left to do.
            assert after.items() <= before.items()
        else:
            assert after == before
