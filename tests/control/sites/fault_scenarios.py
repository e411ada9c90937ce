"""Fault scenarios of the jobs that deploy, restart, delete, recover and purge sites."""

from dataclasses import replace

from stead.control.jobs import service as jobs
from stead.control.sites import workflows
from stead.control.sites.jobs import SiteWork
from tests.control.backups.fault_scenarios import configurations_locked
from tests.control.redirects.fault_scenarios import OLD_RULES, redirecting_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import LongStep, OwnerSettings, Refusal, Scenario, View
from tests.faults.jobs.sites import (
    SiteUnderTest,
    delete,
    delete_before_purge,
    deploy,
    new_site,
    require_success,
    restart,
    running_site,
    start_job,
)
from tests.faults.jobs.states import DELETED, FAILED, PAGE, SERVED, UNKNOWN_HOST, without_node

EXPIRED = replace(DELETED, settings=OwnerSettings(redirects=OLD_RULES))


async def deleted_site(harness: Harness) -> SiteUnderTest:
    site = await running_site(harness)
    await require_success(harness, await delete(harness, site))
    return site


async def expired_site(harness: Harness) -> SiteUnderTest:
    site = await redirecting_site(harness)
    await delete_before_purge(harness, site)
    return site


async def recover(harness: Harness, site: SiteUnderTest) -> str:
    return await start_job(harness, "POST", f"/v1/sites/{site.id}/recover")


async def purge(harness: Harness, site: SiteUnderTest) -> str:
    """Queue the job that a worker queues for every site that cannot be recovered any more."""
    async with harness.database.transaction() as tx:
        owner = await tx.value("select coalesce(team_id, account_id) from sites where id = $1", site.id)
        subject = jobs.Subject(site.id, owner)
        return (await jobs.enqueue(tx, workflows.PURGE.kind, SiteWork(), subject, scope="sites:admin")).id


async def _cannot_open(harness: Harness, site: SiteUnderTest) -> Refusal:
    status = await site.set_status(harness, "deleting")
    return Refusal("site.busy", "The site cannot become running now.", status)


async def _cannot_close(harness: Harness, site: SiteUnderTest) -> Refusal:
    status = await site.set_status(harness, "running")
    return Refusal("site.busy", "The site is not being deleted any more.", status)


SCENARIOS = {
    "deployment.deploy": Scenario(
        prepare=new_site,
        start=deploy,
        succeeded=SERVED,
        failed=FAILED,
        event="deploy.completed",
        failure_event="deploy.failed",
        follow_up=delete,
        cancelled_before_start=FAILED,
        refuse={"place": without_node, "open": _cannot_open},
        view=View(old=UNKNOWN_HOST, new=PAGE),
    ),
    "site.restart": Scenario(
        prepare=running_site,
        start=restart,
        succeeded=SERVED,
        failed=replace(SERVED, status="failed", has_reason=True),
        event="site.restarted",
        failure_event="site.restart_failed",
        follow_up=restart,
        cancelled_before_start=SERVED,
        refuse={"place": without_node, "open": _cannot_open},
        view=View(old=PAGE, new=PAGE),
    ),
    "site.restart/recover": Scenario(
        prepare=deleted_site,
        start=recover,
        succeeded=SERVED,
        failed=DELETED,
        event="site.recovered",
        failure_event="site.recovery_failed",
        follow_up=recover,
        cancelled_before_start=DELETED,
        refuse={"place": without_node, "open": _cannot_open},
        view=View(old=UNKNOWN_HOST, new=PAGE),
    ),
    "site.delete": Scenario(
        prepare=running_site,
        start=delete,
        succeeded=DELETED,
        failed=SERVED,
        event="site.deleted",
        failure_event="site.deletion_failed",
        follow_up=delete,
        cancelled_before_start=SERVED,
        refuse={"close": _cannot_close},
        long_steps={"snapshot": LongStep(hold=configurations_locked, artifacts=(0, 0))},
        view=View(old=PAGE, new=UNKNOWN_HOST),
    ),
    "site.delete/purge": Scenario(
        prepare=expired_site,
        start=purge,
        succeeded=replace(EXPIRED, on_node=False, assigned=False),
        failed=EXPIRED,
        event=None,
        follow_up=purge,
        cancelled_before_start=EXPIRED,
        failed_at={
            "forget": replace(EXPIRED, on_node=False),
            "displace": replace(EXPIRED, on_node=False),
        },
        refuse={"displace": None},
        view=View(old=UNKNOWN_HOST, new=UNKNOWN_HOST),
    ),
}
