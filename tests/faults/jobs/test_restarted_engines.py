"""An engine crashes in a step and is started again: every job is finished, and nothing is done twice."""

from collections.abc import Sequence

import pytest

from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs.cases import HELD, Case
from tests.faults.jobs.checks import check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.trials import Trial, Trials, conclude, halves, holding, release, run_in_batches

pytestmark = pytest.mark.faults


async def _crash(harness: Harness, engine: type[Engine]) -> Trials:
    """One crash for jobs in every step of every kind. Half of the steps end while the engine is down."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            early, late = halves(trials)
            await harness.stack.kill(engine)
            await release(harness, *early)
            await harness.stack.start(engine)
            await release(harness, *late)
            await conclude(harness, trials)
        return trials

    return await run_in_batches(HELD, run)


@pytest.fixture(scope="module")
async def nats_crashed(harness: Harness) -> Trials:
    return await _crash(harness, Nats)


@pytest.fixture(scope="module")
async def temporal_crashed(harness: Harness) -> Trials:
    return await _crash(harness, Temporal)


@pytest.fixture(scope="module")
async def postgresql_crashed(harness: Harness) -> Trials:
    return await _crash(harness, Postgres)


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_is_finished_when_nats_crashes_in_a_step(case: Case, nats_crashed: Trials) -> None:
    check_succeeded(case, nats_crashed[case].result)
    record_covered("NATS restarted", case)


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_is_finished_when_temporal_crashes_in_a_step(case: Case, temporal_crashed: Trials) -> None:
    check_succeeded(case, temporal_crashed[case].result)
    record_covered("Temporal restarted", case)


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_is_finished_when_postgresql_crashes_in_a_step(case: Case, postgresql_crashed: Trials) -> None:
    check_succeeded(case, postgresql_crashed[case].result)
    record_covered("PostgreSQL restarted", case)
