"""The fault scenario of the job that sends a greeting."""

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario
from tests.faults.jobs.sites import SiteUnderTest, running_site, start_job
from tests.faults.jobs.states import SERVED


async def greet(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/greetings"
    return await start_job(harness, "POST", path, {"text": "Hello"})


SCENARIOS = {
    "greeting.send": Scenario(
        prepare=running_site,
        start=greet,
        succeeded=SERVED,
        failed=SERVED,
        event="greeting.sent",
        follow_up=greet,
        cancelled_before_start=SERVED,
        refuse={"finish": None},
    ),
}
