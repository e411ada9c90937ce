"""Fault scenarios of the jobs that change plugins and themes."""

from tests.control.backups.fault_scenarios import configurations_locked
from tests.control.exec.fault_scenarios import wordpress_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import LongStep, Scenario
from tests.faults.jobs.sites import SiteUnderTest, start_job
from tests.faults.jobs.states import SERVED


async def _install(harness: Harness, site: SiteUnderTest) -> str:
    body = {"kind": "plugin", "slug": "akismet"}
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/components", body)


async def _change(harness: Harness, site: SiteUnderTest) -> str:
    body = {"operations": [{"action": "update", "kind": "plugin", "slug": "akismet"}]}
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/components:batch", body)


SCENARIOS = {
    name: Scenario(
        prepare=wordpress_site,
        start=start,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=start,
        cancelled_before_start=SERVED,
        long_steps={"snapshot": LongStep(hold=configurations_locked, artifacts=(0, 0))},
    )
    for name, start in (("component.install", _install), ("site.plugin_update", _change))
}
