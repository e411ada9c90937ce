"""Fault scenarios of the jobs that apply the configuration of sites and environments."""

from dataclasses import replace

from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import OwnerSettings, Scenario, Settings, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, running_site, start_job
from tests.faults.jobs.states import NOT_ALLOWED, PAGE, SERVED

OPEN: Settings = {"security": {"allowed_ips": ["127.0.0.0/8"]}}
"""Allows the visitors of these tests."""
CLOSED: Settings = {"security": {"allowed_ips": ["192.0.2.0/24"]}}
"""Allows none of them."""


async def configured_site(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await require_success(harness, await configure(harness, site, OPEN))
    return site


async def configured_environment(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await require_success(harness, await configure_environment(harness, site, OPEN))
    return site


async def configure(harness: Harness, site: SiteUnderTest, settings: Settings = CLOSED) -> str:
    return await start_job(harness, "PATCH", f"/v1/sites/{site.id}/config", settings)


async def configure_environment(harness: Harness, site: SiteUnderTest, settings: Settings = CLOSED) -> str:
    path = f"/v1/sites/{site.id}/environments/production/config"
    return await start_job(harness, "PATCH", path, settings)


SCENARIOS = {
    "site.config_apply": Scenario(
        prepare=configured_site,
        start=configure,
        succeeded=replace(SERVED, settings=OwnerSettings(site=CLOSED)),
        failed=replace(SERVED, settings=OwnerSettings(site=OPEN)),
        event="site.config_changed",
        follow_up=configure,
        cancelled_before_start=replace(SERVED, settings=OwnerSettings(site=OPEN)),
        refuse={"done": None},
        view=View(old=PAGE, new=NOT_ALLOWED),
    ),
    "environment.config_apply": Scenario(
        prepare=configured_environment,
        start=configure_environment,
        succeeded=replace(SERVED, settings=OwnerSettings(environment=CLOSED)),
        failed=replace(SERVED, settings=OwnerSettings(environment=OPEN)),
        event="environment.config_changed",
        follow_up=configure_environment,
        cancelled_before_start=replace(SERVED, settings=OwnerSettings(environment=OPEN)),
        refuse={"done": None},
        view=View(old=PAGE, new=NOT_ALLOWED),
    ),
}
