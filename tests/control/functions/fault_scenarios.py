"""Fault scenarios of the jobs that deploy, roll back and remove functions.

The sites of the fault suite have no host of functions, so these jobs run on simulated sites.
"""

from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.functions import service as functions
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Refusal, Scenario, View
from tests.faults.jobs.sites import SiteUnderTest, require_success, running_site
from tests.faults.jobs.states import NO_PAGE, PAGE, SERVED
from tests.teams import insert_function

_VIEW = View(old=NO_PAGE, new=PAGE, path="/_fn/function")


async def site_with_function(harness: Harness) -> SiteUnderTest:
    """A site with a function that was built twice, and never deployed. `deployments` has its id."""
    site = await running_site(harness)
    await harness.sql("update sites set profile = 'wasm', runtime = 'wasm' where id = $1", site.id)
    async with harness.database.transaction() as tx:
        function = await insert_function(tx, site.id, "function")
    site.deployments.append(function)
    ((environment,),) = await harness.sql("select id from environments where site_id = $1", site.id)
    for number in (1, 2):
        files = {"function.wasm": f"{function} {number}"}
        artifact = await Delivery(harness).artifact(Site(site.id, environment, site.domain), files)
        await harness.sql(
            "update builds set function_id = $2, builder = 'wasm' where artifact_id = $1", artifact, function
        )
        await harness.sql("update artifacts set serve_model = 'wasm' where id = $1", artifact)
        site.artifacts.append(artifact)
    return site


async def site_with_versions(harness: Harness) -> SiteUnderTest:
    """Its function serves the second of two versions."""
    site = await site_with_function(harness)
    for which in (0, 1):
        await require_success(harness, await deploy(harness, site, which))
    return site


async def deploy(harness: Harness, site: SiteUnderTest, which: int = 0) -> str:
    path = f"/v1/functions/{site.deployments[0]}/deploy"
    return str((await harness.ask("POST", path, {"artifact_id": site.artifacts[which]}))["job_id"])


async def roll_back(harness: Harness, site: SiteUnderTest) -> str:
    function = site.deployments[0]
    ((version,),) = await harness.sql(
        "select min(id) from function_versions where function_id = $1", function
    )
    path = f"/v1/functions/{function}/rollback"
    return str((await harness.ask("POST", path, {"version_id": version}))["job_id"])


async def delete(harness: Harness, site: SiteUnderTest) -> str:
    await harness.ask("DELETE", f"/v1/functions/{site.deployments[0]}", status=204)
    return await _removal_of(harness, site)


async def remove_again(harness: Harness, site: SiteUnderTest) -> str:
    """As a worker does for functions whose removal has failed."""
    async with harness.database.transaction() as tx:
        await functions.enqueue_removal(tx, site.deployments[0])
    return await _removal_of(harness, site)


async def _removal_of(harness: Harness, site: SiteUnderTest) -> str:
    ((job,),) = await harness.sql(
        "select max(id) from jobs where site_id = $1 and type = 'function.delete'", site.id
    )
    return str(job)


async def _suspended(harness: Harness, site: SiteUnderTest) -> Refusal:
    sql = "update environments set status = 'suspended' where site_id = $1 and type = 'production'"
    await harness.sql(sql, site.id)
    error = EnvironmentNotReady(status="suspended")
    return Refusal(error.code, str(error))


SCENARIOS = {
    "deployment.wasm_deploy": Scenario(
        prepare=site_with_function,
        start=deploy,
        succeeded=SERVED,
        failed=SERVED,
        event="function.deployed",
        failure_event="function.failed",
        follow_up=deploy,
        cancelled_before_start=SERVED,
        refuse={"begin": _suspended, "done": None},
        view=_VIEW,
    ),
    "deployment.wasm_rollback": Scenario(
        prepare=site_with_versions,
        start=roll_back,
        succeeded=SERVED,
        failed=SERVED,
        event="function.rolled_back",
        failure_event="function.failed",
        follow_up=roll_back,
        cancelled_before_start=SERVED,
        refuse={"begin": _suspended, "done": None},
        view=_VIEW,
    ),
    "function.delete": Scenario(
        prepare=site_with_versions,
        start=delete,
        succeeded=SERVED,
        failed=SERVED,
        event=None,
        follow_up=remove_again,
        cancelled_before_start=SERVED,
        refuse={"done": None},
        view=_VIEW,
    ),
}
