"""Fault scenarios of the jobs that take snapshots and restore them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from stead.control.environments.rules import EnvironmentBusy
from tests.control.deployments.fault_scenarios import deploy_artifact, deployed_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import IsInStep, LongStep, Refusal, Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, start_job
from tests.faults.jobs.states import FIRST, NO_PAGE, PAGE, SECOND


@asynccontextmanager
async def configurations_locked(harness: Harness) -> AsyncIterator[IsInStep]:
    """No worker can read what the configuration of a site is, which becomes a part of its snapshot."""
    connection = await harness.connect()
    await connection.execute("begin")
    await connection.execute("lock table configurations in access exclusive mode")

    async def is_in_step(_: str) -> Any:
        return await harness.sql(
            "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
            connection.get_server_pid(),
        )

    try:
        yield is_in_step
    finally:
        # PostgreSQL may have crashed meanwhile.
        connection.terminate()


SNAPSHOT_STEP = LongStep(hold=configurations_locked, artifacts=(2, 2))


async def site_with_snapshot(harness: Harness) -> SiteUnderTest:
    """A site that shows the second artifact, with a snapshot in which it shows the first."""
    site = await deployed_site(harness)
    await require_success(harness, await back_up(harness, site))
    await require_success(harness, await deploy_artifact(harness, site, 1))
    return site


async def back_up(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/backup")


async def restore(harness: Harness, site: SiteUnderTest) -> str:
    ((snapshot,),) = await harness.sql(
        "select id from snapshots where site_id = $1 and kind = 'on_demand' and status = 'kept'", site.id
    )
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/snapshots/{snapshot}/restore")


async def _suspended(harness: Harness, site: SiteUnderTest) -> Refusal:
    sql = "update environments set status = 'suspended' where site_id = $1 and type = 'production'"
    await harness.sql(sql, site.id)
    error = EnvironmentBusy(status="suspended")
    return Refusal(error.code, str(error))


SCENARIOS = {
    "backup.create": Scenario(
        prepare=deployed_site,
        start=back_up,
        succeeded=FIRST,
        failed=FIRST,
        event="snapshot.completed",
        failure_event="snapshot.failed",
        follow_up=back_up,
        cancelled_before_start=FIRST,
        refuse={"done": None},
        long_steps={"snapshot": SNAPSHOT_STEP},
    ),
    "backup.restore": Scenario(
        prepare=site_with_snapshot,
        start=restore,
        succeeded=FIRST,
        failed=SECOND,
        event="snapshot.restored",
        failure_event="snapshot.restore_failed",
        follow_up=restore,
        cancelled_before_start=SECOND,
        refuse={"begin": _suspended, "settings": None, "done": None},
        view=View(old=NO_PAGE, new=PAGE, path="/only-1.html"),
        long_steps={"snapshot": SNAPSHOT_STEP},
    ),
}
