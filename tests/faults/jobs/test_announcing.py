"""Jobs of live sites whose announcement meets a fault: visitors only ever meet the old or the new."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from stead.control.jobs.rules import EdgeUnreachable, JobCancelled, JobLost
from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_NODE
from tests.faults.jobs import announcing, checks
from tests.faults.jobs.announcing import Announcing, Stage, met
from tests.faults.jobs.cases import CASES, EVERY, LABOURING, TELLING, Case, Trials
from tests.faults.jobs.edge import Edge, Visitor, visited
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import NEW_RULES, OLD_RULES, redirect, redirecting_site

pytestmark = pytest.mark.faults

IMPATIENT = "4"
"""Seconds that the edge is given where it shall be too slow."""
REPLACEMENTS = 12


@pytest.fixture(scope="module")
async def live(harness: Harness) -> AsyncIterator[Harness]:
    """Whatever these tests create is for visitors."""
    await harness.node.work_at(0)
    harness.speak_as("live")
    yield harness
    harness.speak_as("test")


@pytest.fixture(scope="module")
async def refused(live: Harness) -> Trials:
    """The edge hears nothing until the jobs have given up."""

    async def fault(stage: Stage) -> None:
        await stage.concluded()
        stage.edge.go_on()
        await stage.visit_until_old()

    await _employ(live, STEAD_EDGE_PATIENCE=IMPATIENT)
    try:
        return await met(live, fault, follow=True)
    finally:
        await _employ(live)


async def _employ(harness: Harness, **settings: str) -> None:
    """Workers with other settings. They have nothing to do: killing them is merely faster."""
    await _kill_workers(harness)
    _hire_workers(harness, **settings)


async def _kill_workers(harness: Harness) -> None:
    for worker in harness.workers:
        await worker.kill()


def _hire_workers(harness: Harness, **settings: str) -> None:
    for worker in harness.workers:
        worker.start(**settings)


async def _conclude(stage: Stage) -> None:
    stage.edge.go_on()
    await stage.concluded()
    await stage.visit()


@pytest.fixture(scope="module")
async def workers_killed(live: Harness) -> Trials:
    """The edge listens again only when another worker tells it."""
    temporal = await live.temporal()

    async def fault(stage: Stage) -> None:
        doomed = {worker.pid for worker in live.workers}
        for trial in stage.trials:
            trial.note = await until(_executor, "somebody executes it", temporal, trial)
        await _kill_workers(live)
        _hire_workers(live)
        for trial in stage.trials:
            again = await until(_executor, "another executes it", temporal, trial, doomed)
            trial.note = trial.note in doomed and again not in doomed
        await _conclude(stage)

    return await met(live, fault)


async def _executor(temporal: Any, trial: Announcing, dead: set[int] = set()) -> int | None:  # noqa: B006
    found = await temporal.get_workflow_handle(trial.job).describe()
    for pending in found.raw_description.pending_activities:
        pid = int(pending.last_worker_identity.partition("@")[0] or 0)
        return pid if pid and pid not in dead else None
    return None


@pytest.fixture(scope="module")
async def node_killed(live: Harness) -> Trials:
    """nginx takes what it was told, and nobody is there to say so."""

    async def fault(stage: Stage) -> None:
        await live.node.kill()
        stage.edge.go_on()
        live.node.start()
        await _conclude(stage)

    return await met(live, fault)


@pytest.fixture(scope="module")
async def nginx_killed(live: Harness) -> Trials:
    async def fault(stage: Stage) -> None:
        await stage.edge.restart()
        await _conclude(stage)

    return await met(live, fault)


async def _restarted(harness: Harness, engine: type[Engine]) -> Trials:
    """The edge applies it while the engine is down."""

    async def fault(stage: Stage) -> None:
        await harness.stack.kill(engine)
        stage.edge.go_on()
        await harness.stack.start(engine)
        await _conclude(stage)

    return await met(harness, fault)


@pytest.fixture(scope="module")
async def nats_restarted(live: Harness) -> Trials:
    return await _restarted(live, Nats)


@pytest.fixture(scope="module")
async def postgresql_restarted(live: Harness) -> Trials:
    return await _restarted(live, Postgres)


@pytest.fixture(scope="module")
async def temporal_restarted(live: Harness) -> Trials:
    return await _restarted(live, Temporal)


@pytest.fixture(scope="module")
async def cancelled(live: Harness) -> Trials:
    async def fault(stage: Stage) -> None:
        await _cancel(stage)
        for trial in stage.trials:
            await until(_sent, "the cancellation was sent", live, trial)
        await _conclude(stage)

    return await met(live, fault, follow=True)


@pytest.fixture(scope="module")
async def cancelled_without_a_worker(live: Harness) -> Trials:
    async def fault(stage: Stage) -> None:
        await _kill_workers(live)
        await _cancel(stage)
        stage.edge.go_on()
        _hire_workers(live)
        await _conclude(stage)

    return await met(live, fault, follow=True)


async def _cancel(stage: Stage) -> None:
    for trial in stage.trials:
        await stage.harness.ask("POST", f"/v1/jobs/{trial.job}/cancel")


async def _sent(harness: Harness, trial: Announcing) -> list[Any]:
    return await harness.sql("select from jobs where id = $1 and cancel_sent_at is not null", trial.job)


@pytest.fixture(scope="module")
async def lost(live: Harness) -> Trials:
    temporal = await live.temporal()

    async def fault(stage: Stage) -> None:
        for trial in stage.trials:
            await temporal.get_workflow_handle(trial.job).terminate("lost")
        await _conclude(stage)

    return await met(live, fault, follow=True)


def _trial(trials: Trials, case: Case) -> Announcing:
    found = trials[case]
    assert isinstance(found, Announcing)
    return found


def test_every_step_of_every_kind_is_caught_in_the_simulator_or_on_a_live_site() -> None:
    tried = {str(case) for case in (*CASES, *TELLING, *LABOURING)}
    assert tried == {str(case) for case in EVERY}


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_that_does_not_reach_the_edge_is_undone_and_makes_way(case: Case, refused: Trials) -> None:
    trial = _trial(refused, case)
    message = str(EdgeUnreachable(nodes=LOCAL_NODE))
    announcing.failed(trial, EdgeUnreachable.code, message, refused=True)
    assert trial.following == "succeeded"
    checks.tried("refusal", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_whose_worker_is_killed_while_it_tells_the_edge_is_finished_by_another(
    case: Case, workers_killed: Trials
) -> None:
    trial = _trial(workers_killed, case)
    announcing.succeeded(trial)
    assert trial.note, "the process that executed the step was killed, and another one executes it"
    checks.tried("worker killed", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_whose_node_is_killed_while_it_tells_the_edge_is_finished_when_it_is_back(
    case: Case, node_killed: Trials
) -> None:
    announcing.succeeded(_trial(node_killed, case))
    checks.tried("node killed", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_is_finished_though_nginx_crashes_while_it_is_told(case: Case, nginx_killed: Trials) -> None:
    announcing.succeeded(_trial(nginx_killed, case), edge_was_down=True)
    checks.tried("nginx killed", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_is_finished_though_nats_crashes_while_it_tells_the_edge(
    case: Case, nats_restarted: Trials
) -> None:
    announcing.succeeded(_trial(nats_restarted, case))
    checks.tried("NATS restarted", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_is_finished_though_postgresql_crashes_while_it_tells_the_edge(
    case: Case, postgresql_restarted: Trials
) -> None:
    announcing.succeeded(_trial(postgresql_restarted, case))
    checks.tried("PostgreSQL restarted", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_is_finished_though_temporal_crashes_while_it_tells_the_edge(
    case: Case, temporal_restarted: Trials
) -> None:
    announcing.succeeded(_trial(temporal_restarted, case))
    checks.tried("Temporal restarted", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_that_is_cancelled_while_it_tells_the_edge_is_undone_and_makes_way(
    case: Case, cancelled: Trials
) -> None:
    trial = _trial(cancelled, case)
    announcing.failed(trial, JobCancelled.code, str(JobCancelled()))
    assert trial.following == "succeeded"
    checks.tried("cancelled", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_that_is_cancelled_while_no_worker_lives_takes_back_what_it_told(
    case: Case, cancelled_without_a_worker: Trials
) -> None:
    trial = _trial(cancelled_without_a_worker, case)
    announcing.failed(trial, JobCancelled.code, str(JobCancelled()))
    assert trial.following == "succeeded"
    checks.tried("cancelled without a worker", case)


@pytest.mark.parametrize("case", TELLING, ids=str)
def test_a_job_whose_execution_is_lost_while_it_tells_the_edge_is_undone_and_makes_way(
    case: Case, lost: Trials
) -> None:
    trial = _trial(lost, case)
    announcing.failed(trial, JobLost.code, str(JobLost()), lost=True)
    assert trial.following == "succeeded"
    checks.tried("execution lost", case)


async def test_a_visitor_meets_the_old_or_the_new_rules_while_they_are_replaced_again_and_again(
    live: Harness,
) -> None:
    site = await redirecting_site(live)
    edge = Edge(live.stack)
    visitors = [Visitor(edge, site.domain, "/old") for _ in range(4)]
    async with visited(*visitors, pause=0.0):
        for number in range(REPLACEMENTS):
            await live.ended(await redirect(live, site, OLD_RULES if number % 2 else NEW_RULES))
    for visitor in visitors:
        assert visitor.sights == {(301, "/one"), (302, "/two")}
        assert visitor.unanswered == []
