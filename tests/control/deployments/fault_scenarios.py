"""Fault scenarios of the jobs that deploy, promote and roll back artifacts."""

import asyncio

from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.shared.ids import new_id
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Refusal, Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, running_site, start_job
from tests.faults.jobs.states import FIRST, NO_PAGE, PAGE, SECOND

_SIGNING = asyncio.Lock()


async def deployed_site(harness: Harness) -> SiteUnderTest:
    """A site with two artifacts that shows the first."""
    site = await running_site(harness)
    delivery = Delivery(harness)
    ((environment,),) = await harness.sql("select id from environments where site_id = $1", site.id)
    for number in (1, 2):
        files = {"index.html": f"the page {number}", f"only-{number}.html": site.domain}
        # Signing keeps a connection while it stores, and the tests have only a few.
        async with _SIGNING:
            artifact = await delivery.artifact(Site(site.id, environment, site.domain), files)
        site.artifacts.append(artifact)
    await require_success(harness, await deploy_artifact(harness, site, 0))
    return site


async def redeployed_site(harness: Harness) -> SiteUnderTest:
    """A site that shows the second artifact, and has shown the first."""
    site = await deployed_site(harness)
    await require_success(harness, await deploy_artifact(harness, site, 1))
    return site


async def staged_site(harness: Harness) -> SiteUnderTest:
    """A site that shows the first artifact, with a staging environment that shows the second."""
    site = await deployed_site(harness)
    site.staging = new_id("env")
    await harness.sql(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'staging', $1, 'running', now())",
        *(site.staging, site.id),
    )
    async with harness.database.transaction() as tx:
        await deployments.record_live(tx, site.staging, site.artifacts[1], None, "clone")
    return site


async def deploy_artifact(harness: Harness, site: SiteUnderTest, which: int = 1) -> str:
    path = f"/v1/sites/{site.id}/environments/production/deployments"
    job = await harness.ask("POST", path, {"artifact_id": site.artifacts[which]})
    site.deployments.append(job["resource"]["id"])
    return str(job["id"])


async def roll_back(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/deployments/{site.deployments[0]}/rollback"
    return await start_job(harness, "POST", path)


async def promote(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/{site.staging}/promote"
    return await start_job(harness, "POST", path, {"to_env": "production"})


async def _suspended(harness: Harness, site: SiteUnderTest) -> Refusal:
    sql = "update environments set status = 'suspended' where site_id = $1 and type = 'production'"
    await harness.sql(sql, site.id)
    error = EnvironmentNotReady(status="suspended")
    return Refusal(error.code, str(error))


SCENARIOS = {
    "deployment.deploy_artifact": Scenario(
        prepare=deployed_site,
        start=deploy_artifact,
        succeeded=SECOND,
        failed=FIRST,
        event="deploy.completed",
        failure_event="deploy.failed",
        follow_up=deploy_artifact,
        cancelled_before_start=FIRST,
        refuse={"begin": _suspended, "done": None},
        view=View(old=NO_PAGE, new=PAGE, path="/only-2.html"),
    ),
    "deployment.promote": Scenario(
        prepare=staged_site,
        start=promote,
        succeeded=SECOND,
        failed=FIRST,
        event="deploy.promoted",
        failure_event="deploy.failed",
        follow_up=promote,
        cancelled_before_start=FIRST,
        refuse={"begin": _suspended, "done": None},
        view=View(old=NO_PAGE, new=PAGE, path="/only-2.html"),
    ),
    "deployment.rollback": Scenario(
        prepare=redeployed_site,
        start=roll_back,
        succeeded=FIRST,
        failed=SECOND,
        event="deploy.rolled_back",
        failure_event="deploy.failed",
        follow_up=roll_back,
        cancelled_before_start=SECOND,
        refuse={"begin": _suspended, "done": None},
        view=View(old=NO_PAGE, new=PAGE, path="/only-1.html"),
    ),
}
