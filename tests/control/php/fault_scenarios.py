"""Fault scenarios of the job that switches the version of PHP."""

from dataclasses import replace

from tests.control.backups.fault_scenarios import configurations_locked
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import LongStep, Scenario
from tests.faults.jobs.sites import SiteUnderTest, running_site, start_job
from tests.faults.jobs.states import SERVED


async def wordpress_site(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await harness.sql(
        "update sites set profile = 'vanilla', runtime = 'cms', php_version = '8.2' where id = $1", site.id
    )
    return site


async def switch(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/php-version", {"version": "8.4"})


SCENARIOS = {
    "site.config_apply/php": Scenario(
        prepare=wordpress_site,
        start=switch,
        succeeded=replace(SERVED, php_version="8.4"),
        failed=replace(SERVED, php_version="8.2"),
        event="site.php_switched",
        failure_event="site.php_switch_failed",
        follow_up=switch,
        cancelled_before_start=replace(SERVED, php_version="8.2"),
        refuse={"done": None},
        long_steps={"snapshot": LongStep(hold=configurations_locked, artifacts=(0, 0))},
    ),
}
