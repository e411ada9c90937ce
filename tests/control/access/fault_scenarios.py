"""Fault scenarios of jobs that change access to a site."""

from tests.control.access.keys import new_public_key
from tests.control.exec.fault_scenarios import wordpress_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Scenario
from tests.faults.jobs.sites import SiteUnderTest, start_job
from tests.faults.jobs.states import SERVED


async def _reset(harness: Harness, site: SiteUnderTest) -> str:
    shown = await harness.ask("POST", f"/v1/sites/{site.id}/admin-password/reset", status=200)
    return str(shown["job_id"])


async def _replace_keys(harness: Harness, site: SiteUnderTest) -> str:
    body = {"keys": [{"public_key": new_public_key()}]}
    return await start_job(harness, "PUT", f"/v1/sites/{site.id}/ssh-keys", body)


SCENARIOS = {
    "site.admin_password_reset": Scenario(
        prepare=wordpress_site,
        start=_reset,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=_reset,
        cancelled_before_start=SERVED,
    ),
    "site.ssh_keys_apply": Scenario(
        prepare=wordpress_site,
        start=_replace_keys,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=_replace_keys,
        cancelled_before_start=SERVED,
        refuse={"update": None, "confirm": None},
    ),
}
