"""Fault scenarios of the job that makes many changes to content."""

from tests.control.exec.fault_scenarios import wordpress_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario
from tests.faults.jobs.sites import SiteUnderTest, start_job
from tests.faults.jobs.states import SERVED


async def _change(harness: Harness, site: SiteUnderTest) -> str:
    body = {"operations": [{"action": "create", "new": {"title": "A post"}}]}
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/content:batch", body)


SCENARIOS = {
    "content.batch": Scenario(
        prepare=wordpress_site,
        start=_change,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=_change,
        cancelled_before_start=SERVED,
    ),
}
