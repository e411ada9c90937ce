"""Fault scenarios of the jobs that attach a domain and change the primary one."""

import secrets

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, running_site, start_job
from tests.faults.jobs.states import PAGE, SERVED


async def attach(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/domains"
    return await start_job(harness, "POST", path, {"hostname": f"d{secrets.token_hex(6)}.example.com"})


async def site_with_two_domains(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await require_success(harness, await attach(harness, site))
    return site


async def make_primary(harness: Harness, site: SiteUnderTest) -> str:
    """Make the domain that is not the primary one the primary one."""
    ((domain,),) = await harness.sql(
        "select id from domains where site_id = $1 and not is_primary and released_at is null", site.id
    )
    path = f"/v1/sites/{site.id}/environments/production/domains/{domain}/primary"
    return await start_job(harness, "POST", path)


SCENARIOS = {
    "domain.attach": Scenario(
        prepare=running_site,
        start=attach,
        succeeded=SERVED,
        failed=SERVED,
        event="domain.attached",
        failure_event="domain.attach_failed",
        follow_up=attach,
        cancelled_before_start=SERVED,
        refuse={"done": None},
        view=View(PAGE, PAGE),
    ),
    "domain.attach/primary": Scenario(
        prepare=site_with_two_domains,
        start=make_primary,
        succeeded=SERVED,
        failed=SERVED,
        event="domain.primary_changed",
        follow_up=make_primary,
        cancelled_before_start=SERVED,
        refuse={"done": None},
        view=View(PAGE, PAGE),
    ),
}
