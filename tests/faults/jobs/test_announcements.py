"""Faults while jobs of live sites announce a change: visitors only ever get the old or the new."""

from collections.abc import AsyncIterator, Collection
from typing import Any

import pytest

from stead.control.jobs.rules import EdgeUnreachable, JobCancelled, JobLost
from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_NODE
from tests.control.redirects.fault_scenarios import NEW_RULES, OLD_RULES, redirect, redirecting_site
from tests.faults.jobs.announcements import (
    LiveTrial,
    Stage,
    check_announced,
    check_withdrawn,
    live_trial,
    run_fault,
    wait_until_withdrawing,
)
from tests.faults.jobs.cases import ANNOUNCING, Case
from tests.faults.jobs.checks import record_covered
from tests.faults.jobs.edge import Edge, Visitor, visiting
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.trials import Trials, cancel, wait_until_cancellation_sent
from tests.patience import slowdown

pytestmark = pytest.mark.faults

SHORT_PATIENCE = 4.0
"""Seconds that the edge gets in the tests in which it is too slow."""
REPLACEMENTS = 12
ENGINES = (Nats, Temporal, Postgres)


@pytest.fixture(scope="module")
async def live(harness: Harness) -> AsyncIterator[Harness]:
    """Everything that these tests create is live."""
    await harness.node.set_step_seconds(0)
    harness.speak_as("live")
    yield harness
    harness.speak_as("test")


@pytest.fixture(scope="module")
async def edge_unreachable(live: Harness) -> Trials:
    """The edge is stopped until the jobs have given up."""

    async def be_impatient() -> None:
        await live.restart_workers(STEAD_EDGE_PATIENCE=f"{SHORT_PATIENCE * slowdown():g}")

    async def fault(stage: Stage) -> None:
        await stage.conclude()
        stage.edge.resume()
        await stage.visit_until_old()
        await live.restart_workers()

    return await run_fault(live, fault, before_start=be_impatient, with_follow_up=True)


async def _conclude(stage: Stage) -> None:
    stage.edge.resume()
    await stage.conclude()
    await stage.visit()


@pytest.fixture(scope="module")
async def workers_killed(live: Harness) -> Trials:
    """The edge is resumed only when another worker announces the change."""
    temporal = await live.temporal()

    async def fault(stage: Stage) -> None:
        killed = {worker.pid for worker in live.workers}
        for trial in stage.trials:
            trial.note = await until(_executor, "a worker executes it", temporal, trial)
        await live.restart_workers()
        for trial in stage.trials:
            again = await until(_executor, "another worker executes it", temporal, trial, killed)
            trial.note = trial.note in killed and again not in killed
        await _conclude(stage)

    return await run_fault(live, fault)


async def _executor(temporal: Any, trial: LiveTrial, killed: Collection[int] = ()) -> int | None:
    """The process that executes the step now, if it is not one that was killed."""
    description = await temporal.get_workflow_handle(trial.job).describe()
    for pending in description.raw_description.pending_activities:
        pid = int(pending.last_worker_identity.partition("@")[0] or 0)
        return pid if pid and pid not in killed else None
    return None


@pytest.fixture(scope="module")
async def node_killed(live: Harness) -> Trials:
    """nginx applies the change while there is no node to report it."""

    async def fault(stage: Stage) -> None:
        await live.node.kill()
        stage.edge.resume()
        live.node.start()
        await _conclude(stage)

    return await run_fault(live, fault)


@pytest.fixture(scope="module")
async def nginx_crashed(live: Harness) -> Trials:
    async def fault(stage: Stage) -> None:
        await stage.edge.crash()
        await _conclude(stage)

    return await run_fault(live, fault)


async def _crash(harness: Harness, engine: type[Engine]) -> Trials:
    """The edge applies the change while the engine is down."""

    async def fault(stage: Stage) -> None:
        await harness.stack.kill(engine)
        stage.edge.resume()
        await harness.stack.start(engine)
        await _conclude(stage)

    return await run_fault(harness, fault)


@pytest.fixture(scope="module")
async def nats_crashed(live: Harness) -> Trials:
    return await _crash(live, Nats)


@pytest.fixture(scope="module")
async def postgresql_crashed(live: Harness) -> Trials:
    return await _crash(live, Postgres)


@pytest.fixture(scope="module")
async def temporal_crashed(live: Harness) -> Trials:
    return await _crash(live, Temporal)


@pytest.fixture(scope="module")
async def cancelled(live: Harness) -> Trials:
    async def fault(stage: Stage) -> None:
        await _cancel(stage)
        await wait_until_cancellation_sent(live, *stage.trials)
        await _conclude(stage)

    return await run_fault(live, fault, with_follow_up=True)


@pytest.fixture(scope="module")
async def cancelled_without_worker(live: Harness) -> Trials:
    """Everything but the edge crashes at once, while the jobs wait for it to apply the old again."""

    async def fault(stage: Stage) -> None:
        await live.kill_workers()
        await _cancel(stage)
        stage.edge.resume()
        await stage.visit()
        stage.edge.stop()
        live.start_workers()
        await wait_until_withdrawing(stage)
        await live.kill_workers()
        await live.node.kill()
        for engine in ENGINES:
            await live.stack.kill(engine)
        stage.edge.resume()
        for engine in ENGINES:
            await live.stack.start(engine)
        live.start_workers()
        live.node.start()
        await _conclude(stage)

    return await run_fault(live, fault, with_follow_up=True)


async def _cancel(stage: Stage) -> None:
    for trial in stage.trials:
        await cancel(stage.harness, trial.job)


@pytest.fixture(scope="module")
async def lost(live: Harness) -> Trials:
    temporal = await live.temporal()

    async def fault(stage: Stage) -> None:
        for trial in stage.trials:
            await temporal.get_workflow_handle(trial.job).terminate("lost")
        await _conclude(stage)

    return await run_fault(live, fault, with_follow_up=True)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_that_does_not_reach_the_edge_is_undone_and_unlocks_its_site(
    case: Case, edge_unreachable: Trials
) -> None:
    trial = live_trial(edge_unreachable, case)
    message = str(EdgeUnreachable(nodes=LOCAL_NODE))
    check_withdrawn(trial, EdgeUnreachable.code, message, refused=True)
    assert trial.follow_up_status == "succeeded"
    record_covered("refusal", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_whose_worker_is_killed_while_it_announces_is_finished_by_another_worker(
    case: Case, workers_killed: Trials
) -> None:
    trial = live_trial(workers_killed, case)
    check_announced(trial)
    assert trial.note, "the process that executed the step was killed, and another one executes it"
    record_covered("worker killed", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_whose_node_is_killed_while_it_announces_is_finished_when_the_node_is_back(
    case: Case, node_killed: Trials
) -> None:
    check_announced(live_trial(node_killed, case))
    record_covered("node killed", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_is_finished_when_nginx_crashes_during_the_announcement(
    case: Case, nginx_crashed: Trials
) -> None:
    check_announced(live_trial(nginx_crashed, case), edge_was_down=True)
    record_covered("nginx killed", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_is_finished_when_nats_crashes_while_it_announces(case: Case, nats_crashed: Trials) -> None:
    check_announced(live_trial(nats_crashed, case))
    record_covered("NATS restarted", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_is_finished_when_postgresql_crashes_while_it_announces(
    case: Case, postgresql_crashed: Trials
) -> None:
    check_announced(live_trial(postgresql_crashed, case))
    record_covered("PostgreSQL restarted", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_is_finished_when_temporal_crashes_while_it_announces(
    case: Case, temporal_crashed: Trials
) -> None:
    check_announced(live_trial(temporal_crashed, case))
    record_covered("Temporal restarted", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_that_is_cancelled_while_it_announces_is_undone_and_unlocks_its_site(
    case: Case, cancelled: Trials
) -> None:
    trial = live_trial(cancelled, case)
    check_withdrawn(trial, JobCancelled.code, str(JobCancelled()))
    assert trial.follow_up_status == "succeeded"
    record_covered("cancelled", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_that_is_cancelled_while_no_worker_runs_withdraws_its_announcement_also_after_a_crash(
    case: Case, cancelled_without_worker: Trials
) -> None:
    trial = live_trial(cancelled_without_worker, case)
    check_withdrawn(trial, JobCancelled.code, str(JobCancelled()))
    assert trial.follow_up_status == "succeeded"
    record_covered("cancelled without a worker", case)
    if case.step.undo_announce is not None:
        record_covered("withdrawing, everything killed", case)


@pytest.mark.parametrize("case", ANNOUNCING, ids=str)
def test_a_job_whose_workflow_is_lost_while_it_announces_is_undone_and_unlocks_its_site(
    case: Case, lost: Trials
) -> None:
    trial = live_trial(lost, case)
    check_withdrawn(trial, JobLost.code, str(JobLost()), lost=True)
    assert trial.follow_up_status == "succeeded"
    record_covered("execution lost", case)


async def test_a_visitor_gets_the_old_or_the_new_redirect_while_the_rules_are_replaced_repeatedly(
    live: Harness,
) -> None:
    site = await redirecting_site(live)
    edge = Edge(live.stack)
    visitors = [Visitor(edge, site.domain, "/old") for _ in range(4)]
    async with visiting(*visitors, pause=0.0):
        for number in range(REPLACEMENTS):
            await live.ended(await redirect(live, site, OLD_RULES if number % 2 else NEW_RULES))
    for visitor in visitors:
        assert visitor.sights == {(301, "/one"), (302, "/two")}
        assert visitor.unanswered == []
