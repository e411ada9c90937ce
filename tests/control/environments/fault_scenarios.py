"""Fault scenarios of the jobs that create, change, suspend and destroy environments."""

from collections.abc import Mapping
from dataclasses import replace

from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import EnvironmentBusy
from stead.control.environments.workflows import destruction
from stead.control.jobs import service as jobs
from tests.control.deployments.fault_scenarios import deployed_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.long_steps import object_store_stopped
from tests.faults.jobs.scenarios import (
    ExpectedState,
    LongStep,
    Prepare,
    Refusal,
    Refuse,
    Scenario,
    Start,
    View,
)
from tests.faults.jobs.sites import SiteUnderTest, delete_before_purge, require_success, start_job
from tests.faults.jobs.states import (
    DELETED,
    FAILED,
    FIRST,
    NO_PAGE,
    PAGE,
    SECOND,
    SERVED,
    SUSPENDED,
    UNKNOWN_HOST,
    without_node,
)

PAUSED = replace(FIRST, status="suspended")
DESTROYED = ExpectedState("deleted", routed=False, on_node=False, assigned=False)
LEFT_BY_DELETION = replace(DELETED, shows=1)


async def site_with_free_host(harness: Harness, label: str = "staging") -> SiteUnderTest:
    """A site with something to show, and the host of an environment that it does not have yet."""
    site = await deployed_site(harness)
    rows = await harness.sql("select subdomain from environments where site_id = $1", site.id)
    slug, _, preview = rows[0]["subdomain"].partition(".")
    site.subdomain = f"{slug}-{label}.{preview}"
    return site


async def site_with_free_branch_host(harness: Harness) -> SiteUnderTest:
    return await site_with_free_host(harness, "feature")


async def cloned_site(harness: Harness) -> SiteUnderTest:
    site = await site_with_free_host(harness)
    await require_success(harness, await clone(harness, site))
    return site


async def site_with_newer_staging(harness: Harness) -> SiteUnderTest:
    """A site that shows the first artifact; its staging, which jobs are about, shows the second."""
    site = await cloned_site(harness)
    path = f"/v1/sites/{site.id}/environments/{site.environment}/deployments"
    job = await start_job(harness, "POST", path, {"artifact_id": site.artifacts[1]})
    await require_success(harness, job)
    return site


async def site_to_push_to(harness: Harness) -> SiteUnderTest:
    """The same, but jobs are about production."""
    site = await site_with_newer_staging(harness)
    site.staging, site.environment, site.subdomain = site.environment, "", ""
    return site


async def site_with_suspended_staging(harness: Harness) -> SiteUnderTest:
    site = await cloned_site(harness)
    await require_success(harness, await suspend(harness, site))
    return site


async def expired_clone(harness: Harness) -> SiteUnderTest:
    site = await cloned_site(harness)
    await delete_before_purge(harness, site)
    return site


async def clone(harness: Harness, site: SiteUnderTest) -> str:
    return await _create(harness, site, {"type": "staging"})


async def create_branch_environment(harness: Harness, site: SiteUnderTest) -> str:
    return await _create(harness, site, {"type": "branch", "branch": "feature"})


async def _create(harness: Harness, site: SiteUnderTest, body: dict[str, str]) -> str:
    job = await harness.ask("POST", f"/v1/sites/{site.id}/environments", body)
    site.environment = job["resource"]["env_id"]
    return str(job["id"])


async def destroy(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "DELETE", f"/v1/sites/{site.id}/environments/{site.clone}")


async def suspend(harness: Harness, site: SiteUnderTest) -> str:
    return await _act(harness, site, "suspend")


async def resume(harness: Harness, site: SiteUnderTest) -> str:
    return await _act(harness, site, "resume")


async def refresh(harness: Harness, site: SiteUnderTest) -> str:
    return await _act(harness, site, "refresh")


async def reset(harness: Harness, site: SiteUnderTest) -> str:
    return await _act(harness, site, "reset")


async def push(harness: Harness, site: SiteUnderTest) -> str:
    return await _act(harness, site, "push")


async def _act(harness: Harness, site: SiteUnderTest, action: str) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/environments/{site.clone}/{action}")


async def purge_clone(harness: Harness, site: SiteUnderTest) -> str:
    """Queue the job that a worker queues for the environments of a deleted site."""
    async with harness.database.transaction() as tx:
        owner = await tx.value("select coalesce(team_id, account_id) from sites where id = $1", site.id)
        subject, work = (
            jobs.Subject(site.id, owner, env_id=site.environment),
            EnvironmentWork(site.environment),
        )
        return (await jobs.enqueue(tx, destruction.PURGE.kind, work, subject, scope="sites:admin")).id


def _cannot_become(status: str, current: str) -> Refuse:
    async def refuse(harness: Harness, site: SiteUnderTest) -> Refusal:
        now = await site.set_clone_status(harness, current)
        return Refusal(EnvironmentBusy.code, f"The environment cannot become {status} now.", now)

    return refuse


async def _suspended(harness: Harness, site: SiteUnderTest) -> Refusal:
    now = await site.set_clone_status(harness, "suspended")
    error = EnvironmentBusy(status=now)
    return Refusal(error.code, str(error), now if site.environment else None)


def _creating(prepare: Prepare, start: Start) -> Scenario:
    return Scenario(
        prepare=prepare,
        start=start,
        succeeded=FIRST,
        failed=FAILED,
        event="env.created",
        failure_event="env.failed",
        follow_up=destroy,
        cancelled_before_start=FAILED,
        refuse={"place": without_node, "content": None, "open": _cannot_become("running", "suspended")},
        view=View(old=UNKNOWN_HOST, new=PAGE),
    )


def _changing(
    prepare: Prepare,
    start: Start,
    event: str,
    *,
    old: ExpectedState,
    new: ExpectedState,
    view: View,
    long_steps: Mapping[str, LongStep] | None = None,
) -> Scenario:
    return Scenario(
        prepare=prepare,
        start=start,
        succeeded=new,
        failed=old,
        event=event,
        failure_event="env.failed",
        follow_up=start,
        cancelled_before_start=old,
        refuse={"content": _suspended, "done": None},
        view=view,
        long_steps=long_steps or {},
    )


SCENARIOS = {
    "environment.clone": _creating(site_with_free_host, clone),
    "environment.create": _creating(site_with_free_branch_host, create_branch_environment),
    "environment.refresh": _changing(
        site_with_newer_staging,
        refresh,
        "env.refreshed",
        old=SECOND,
        new=FIRST,
        view=View(old=NO_PAGE, new=PAGE, path="/only-1.html"),
    ),
    "environment.reset": _changing(
        site_with_newer_staging,
        reset,
        "env.reset",
        old=SECOND,
        new=SERVED,
        view=View(old=PAGE, new=NO_PAGE, path="/only-2.html"),
    ),
    "environment.push": _changing(
        site_to_push_to,
        push,
        "env.pushed",
        old=FIRST,
        new=SECOND,
        view=View(old=NO_PAGE, new=PAGE, path="/only-2.html"),
        long_steps={"snapshot": LongStep(hold=object_store_stopped, artifacts=(2, 2))},
    ),
    "environment.destroy": Scenario(
        prepare=cloned_site,
        start=destroy,
        succeeded=DESTROYED,
        failed=FIRST,
        event="env.destroyed",
        failure_event="env.failed",
        follow_up=destroy,
        cancelled_before_start=FIRST,
        refuse={"close": _cannot_become("deleted", "running")},
        view=View(old=PAGE, new=UNKNOWN_HOST),
    ),
    "environment.destroy/purge": Scenario(
        prepare=expired_clone,
        start=purge_clone,
        succeeded=replace(DESTROYED, shows=1),
        failed=LEFT_BY_DELETION,
        event=None,
        follow_up=purge_clone,
        # Only this job makes the simulator forget a host that no edge leads to any more.
        cancelled_before_start=replace(LEFT_BY_DELETION, routed=True),
        failed_at={
            "route": replace(LEFT_BY_DELETION, routed=True),
            "displace": replace(LEFT_BY_DELETION, on_node=False),
        },
        refuse={"displace": None},
    ),
    "environment.suspend": Scenario(
        prepare=cloned_site,
        start=suspend,
        succeeded=PAUSED,
        failed=FIRST,
        event="env.suspended",
        failure_event="env.failed",
        follow_up=suspend,
        cancelled_before_start=FIRST,
        refuse={"pause": _cannot_become("suspended", "running")},
        view=View(old=PAGE, new=SUSPENDED),
    ),
    "environment.resume": Scenario(
        prepare=site_with_suspended_staging,
        start=resume,
        succeeded=FIRST,
        failed=PAUSED,
        event="env.resumed",
        failure_event="env.failed",
        follow_up=resume,
        cancelled_before_start=PAUSED,
        refuse={"open": _cannot_become("running", "suspended")},
        view=View(old=SUSPENDED, new=PAGE),
    ),
}
