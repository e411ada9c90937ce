"""Fault scenarios of the job that applies redirects."""

from dataclasses import replace

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import OwnerSettings, Rules, Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, running_site, start_job
from tests.faults.jobs.states import SERVED

OLD_RULES: Rules = [{"from": "/old", "to": "/one", "code": 301}]
NEW_RULES: Rules = [{"from": "/old", "to": "/two", "code": 302}]
WITH_OLD_RULES = replace(SERVED, settings=OwnerSettings(redirects=OLD_RULES))


async def redirecting_site(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await require_success(harness, await redirect(harness, site, OLD_RULES))
    return site


async def redirect(harness: Harness, site: SiteUnderTest, rules: Rules = NEW_RULES) -> str:
    return await start_job(harness, "PUT", f"/v1/sites/{site.id}/redirects", {"redirects": rules})


SCENARIOS = {
    "job.redirects_apply": Scenario(
        prepare=redirecting_site,
        start=redirect,
        succeeded=replace(SERVED, settings=OwnerSettings(redirects=NEW_RULES)),
        failed=WITH_OLD_RULES,
        event="site.redirects_changed",
        follow_up=redirect,
        cancelled_before_start=WITH_OLD_RULES,
        refuse={"done": None},
        view=View(old=(301, "/one"), new=(302, "/two"), path="/old"),
    ),
}
