"""Fault scenarios of the job that exports a database."""

from stead.control.database.rules import ExportFailed
from tests.control.exec.fault_scenarios import wordpress_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Refusal, Scenario
from tests.faults.jobs.sites import SiteUnderTest, start_job
from tests.faults.jobs.states import SERVED


async def _export(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/database/export")


async def _forgotten(harness: Harness, site: SiteUnderTest) -> Refusal:
    await harness.sql("delete from database_exports where site_id = $1", site.id)
    return Refusal(ExportFailed.code, "It has waited for too long. Export the database again.")


SCENARIOS = {
    "database.export": Scenario(
        prepare=wordpress_site,
        start=_export,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=_export,
        cancelled_before_start=SERVED,
        refuse={"begin": _forgotten, "done": None},
    ),
}
