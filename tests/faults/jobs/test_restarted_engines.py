"""An engine that crashes in a step and comes back: every job is finished, and nothing is done twice."""

import pytest

from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs import checks
from tests.faults.jobs.cases import CASES, Case, Trials, caught, halves, let_go, watched
from tests.faults.jobs.harness import Harness

pytestmark = pytest.mark.faults


async def _restarted(harness: Harness, engine: type[Engine]) -> Trials:
    """One crash for jobs in every step of every kind; half of the steps end while the engine is down."""
    trials = await caught(harness, CASES)
    early, late = halves(trials)
    await harness.stack.kill(engine)
    await let_go(harness, *early)
    await harness.stack.start(engine)
    await let_go(harness, *late)
    return await watched(harness, trials)


@pytest.fixture(scope="module")
async def nats_restarted(harness: Harness) -> Trials:
    return await _restarted(harness, Nats)


@pytest.fixture(scope="module")
async def temporal_restarted(harness: Harness) -> Trials:
    return await _restarted(harness, Temporal)


@pytest.fixture(scope="module")
async def postgresql_restarted(harness: Harness) -> Trials:
    return await _restarted(harness, Postgres)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_is_finished_though_nats_crashes_in_a_step(case: Case, nats_restarted: Trials) -> None:
    checks.succeeded(case, nats_restarted[case].seen)
    checks.tried("NATS restarted", case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_is_finished_though_temporal_crashes_in_a_step(case: Case, temporal_restarted: Trials) -> None:
    checks.succeeded(case, temporal_restarted[case].seen)
    checks.tried("Temporal restarted", case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_is_finished_though_postgresql_crashes_in_a_step(
    case: Case, postgresql_restarted: Trials
) -> None:
    checks.succeeded(case, postgresql_restarted[case].seen)
    checks.tried("PostgreSQL restarted", case)
