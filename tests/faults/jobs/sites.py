"""Sites that fault scenarios start from, and the jobs that most of them need."""

from dataclasses import dataclass, field
from typing import Any

from stead.shared.ids import new_id
from tests.faults.jobs.harness import Harness

MISSING_REGION = "no-such-region"


@dataclass
class SiteUnderTest:
    domain: str
    id: str = ""
    environment: str = ""
    """The environment that its jobs are about; production if it is empty."""
    subdomain: str = ""
    artifacts: list[str] = field(default_factory=list)
    """The oldest first; each has a page that the others do not have."""
    deployments: list[str] = field(default_factory=list)
    staging: str = ""
    upload: str = ""

    @property
    def host(self) -> str:
        """The host that its visitors request."""
        return self.subdomain or self.domain

    @property
    def clone(self) -> str:
        return self.environment or self.staging

    async def set_status(self, harness: Harness, status: str) -> str:
        """Change the status by SQL, so that a job finds another one than it expects."""
        await harness.sql("update sites set status = $2 where id = $1", self.id, status)
        return status

    async def set_clone_status(self, harness: Harness, status: str) -> str:
        await harness.sql("update environments set status = $2 where id = $1", self.clone, status)
        return status


async def new_site(harness: Harness) -> SiteUnderTest:
    return SiteUnderTest(f"{new_id('site').removeprefix('site_')}.example.com")


async def running_site(harness: Harness) -> SiteUnderTest:
    site = await new_site(harness)
    await require_success(harness, await deploy(harness, site))
    return site


async def require_success(harness: Harness, job: str) -> None:
    """Wait for a job that has to succeed."""
    await harness.ended(job)
    ((status, error),) = await harness.sql("select status, error from jobs where id = $1", job)
    assert status == "succeeded", error


async def start_job(harness: Harness, method: str, path: str, body: object = None) -> str:
    return str((await harness.ask(method, path, body))["id"])


async def deploy(harness: Harness, site: SiteUnderTest, **more: Any) -> str:
    body = {"domain": site.domain, "profile": "static", **more}
    job = await harness.ask("POST", "/v1/sites", body)
    site.id = job["resource"]["site_id"]
    return str(job["id"])


async def deploy_nowhere(harness: Harness, site: SiteUnderTest) -> str:
    """Deploy to a region whose nodes are gone when the job begins. Creating a site there would be refused."""
    queue = await harness.lock_queue()
    try:
        job = await deploy(harness, site)
        await harness.sql("update sites set region = 'nowhere' where id = $1", site.id)
    finally:
        await queue.close()
    return job


async def restart(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/restart")


async def delete(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "DELETE", f"/v1/sites/{site.id}", {"confirm_domain": site.domain})


async def delete_before_purge(harness: Harness, site: SiteUnderTest) -> None:
    """Delete a site that the test purges. It can still be recovered: otherwise a worker would purge it at any
    moment."""
    await require_success(harness, await delete(harness, site))
