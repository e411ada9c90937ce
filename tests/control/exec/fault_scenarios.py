"""Fault scenarios of the job that runs a command."""

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario
from tests.faults.jobs.sites import SiteUnderTest, running_site, start_job
from tests.faults.jobs.states import SERVED


async def wordpress_site(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await harness.sql("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", site.id)
    return site


async def _run(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/exec"
    return await start_job(harness, "POST", path, {"args": ["cache", "flush"]})


SCENARIOS = {
    "job.exec": Scenario(
        prepare=wordpress_site,
        start=_run,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=_run,
        cancelled_before_start=SERVED,
    ),
}
