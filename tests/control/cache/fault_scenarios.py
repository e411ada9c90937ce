"""Fault scenarios of the job that purges the page cache."""

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, running_site, start_job
from tests.faults.jobs.states import PAGE, SERVED


async def purge_cache(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/cache/purge"
    return await start_job(harness, "POST", path)


SCENARIOS = {
    "job.cache_purge": Scenario(
        prepare=running_site,
        start=purge_cache,
        succeeded=SERVED,
        failed=SERVED,
        event="environment.cache_purged",
        follow_up=purge_cache,
        cancelled_before_start=SERVED,
        refuse={"done": None},
        view=View(old=PAGE, new=PAGE),
    ),
}
