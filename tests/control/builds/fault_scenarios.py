"""Fault scenarios of the job that builds a site."""

import httpx

from stead.control.builds.rules import BuildUnavailable
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.long_steps import object_store_stopped, signing_keys_locked
from tests.faults.jobs.scenarios import LongStep, Refusal, Scenario
from tests.faults.jobs.sites import MISSING_REGION, SiteUnderTest, running_site, start_job
from tests.faults.jobs.states import SERVED


async def repository_site(harness: Harness) -> SiteUnderTest:
    """A site that is connected to a repository after its first deployment, so that only `build` builds it."""
    site = await running_site(harness)
    await harness.sql(
        "update sites set git_repo = 'https://git.example.com/site.git', git_branch = 'main' where id = $1",
        site.id,
    )
    return site


async def build(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/builds"
    return await start_job(harness, "POST", path, {"builder": "static"})


async def site_with_upload(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    content = b"an archive"
    path = f"/v1/sites/{site.id}/uploads"
    upload = await harness.ask("POST", path, {"size_bytes": len(content)}, status=201)
    async with httpx.AsyncClient(timeout=60.0) as client:
        sent = await client.put(upload["url"], content=content, headers=upload["headers"])
        assert sent.is_success
    site.upload = str(upload["id"])
    return site


async def build_upload(harness: Harness, site: SiteUnderTest) -> str:
    path = f"/v1/sites/{site.id}/environments/production/builds"
    return await start_job(harness, "POST", path, {"builder": "static", "source": site.upload})


async def _without_builder(harness: Harness, site: SiteUnderTest) -> Refusal:
    await harness.sql("update sites set region = $2 where id = $1", site.id, MISSING_REGION)
    error = BuildUnavailable(region=MISSING_REGION, builder="static")
    return Refusal(error.code, str(error))


SCENARIOS = {
    "build.run": Scenario(
        prepare=repository_site,
        start=build,
        succeeded=SERVED,
        failed=SERVED,
        event="build.succeeded",
        failure_event="build.failed",
        follow_up=build,
        cancelled_before_start=SERVED,
        refuse={"begin": _without_builder, "done": None},
        long_steps={
            "source": LongStep(
                hold=object_store_stopped, artifacts=(1, 0), prepare=site_with_upload, start=build_upload
            ),
            "sign": LongStep(hold=signing_keys_locked, artifacts=(1, 0)),
        },
    ),
}
