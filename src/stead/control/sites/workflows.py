"""The jobs of sites, step by step, with what undoes each."""

from stead.control.certificates import service as certificates
from stead.control.deployments import service as deployments
from stead.control.deployments.events import DEPLOY_COMPLETED, DEPLOY_FAILED
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.git import push_builds
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    announce_step,
    control_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.nodes import service as nodes
from stead.control.sites import jobs, store
from stead.control.sites import service as sites
from stead.control.sites.events import (
    SITE_DELETED,
    SITE_DELETION_FAILED,
    SITE_RECOVERED,
    SITE_RECOVERY_FAILED,
    SITE_RESTART_FAILED,
    SITE_RESTARTED,
)
from stead.control.sites.jobs import SiteWork
from stead.control.sites.rules import RECOVERABLE, SiteStatus
from stead.protocol.work import (
    EnsureEnvironment,
    EnsureRoute,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    Work,
    release_of,
)

SiteJob = Job[SiteWork]


async def _node_command_if_placed(tx: Tx, job: SiteJob, work: Work) -> NodeCommand | None:
    """Where no node carries the site there is nothing to remove."""
    environment = await environments.production(tx, job.site_id)
    return (
        None if environment.node_id is None else await sites.node_command(tx, job.site_id, environment, work)
    )


async def _node_command(tx: Tx, job: SiteJob, work: Work) -> NodeCommand:
    return await sites.node_command(tx, job.site_id, await environments.production(tx, job.site_id), work)


async def _place(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    if environment.node_id is None:
        facts = await sites.facts(tx, job.site_id)
        node = await nodes.place(tx, facts.region, wanted_since=job.dispatched_at)
        await environments.put_on(tx, environment.id, node)


async def _place_recovered(tx: Tx, job: SiteJob) -> None:
    """With all that was deleted with it, which is served with it too."""
    await _place(tx, job)
    await environments.come_back(tx, job.site_id)


async def _displace(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    await environments.put_on(tx, environment.id, None)


async def _ensure_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    """With what it shows: its node may have lost its disk, or be another one."""
    environment = await environments.production(tx, job.site_id)
    release = await deployments.release_work(tx, environment.id)
    return await _node_command(
        tx, job, EnsureEnvironment((await sites.facts(tx, job.site_id)).runtime, release)
    )


async def _remove_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    return await _node_command_if_placed(tx, job, RemoveEnvironment())


async def _restart_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    return await _node_command(tx, job, RestartEnvironment((await sites.facts(tx, job.site_id)).runtime))


async def _serve(tx: Tx, job: SiteJob) -> Announcement | None:
    """With its redirects, which may have been set while no node carried it."""
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _withdraw(tx: Tx, job: SiteJob) -> Announcement | None:
    return await announcements.withdraw_site(tx, job.site_id)


async def _forget(tx: Tx, job: SiteJob) -> Announcement | None:
    environment = await environments.production(tx, job.site_id)
    return await announcements.withdraw_redirects(tx, environment.id)


async def _simulate_route(tx: Tx, job: SiteJob) -> NodeCommand | None:
    """The simulator has no edge."""
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    hosts = (facts.domain, environment.subdomain)
    return await _node_command_if_placed(tx, job, EnsureRoute(hosts)) if facts.is_test else None


async def _simulate_no_route(tx: Tx, job: SiteJob) -> NodeCommand | None:
    facts = await sites.facts(tx, job.site_id)
    return await _node_command_if_placed(tx, job, RemoveRoute()) if facts.is_test else None


_ROUTE = Step(
    "route",
    command=_simulate_route,
    announce=_serve,
    undo_command=_simulate_no_route,
    undo_announce=_withdraw,
)
_ROUTE_AGAIN = Step("route", command=_simulate_route, announce=_serve)
_UNROUTE = Step(
    "route",
    command=_simulate_no_route,
    announce=_withdraw,
    undo_command=_simulate_route,
    undo_announce=_serve,
)


async def _probe(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.production(tx, job.site_id)
    shown = await deployments.current(tx, environment.id)
    release = release_of(shown.digest) if shown else ""
    return await _node_command(tx, job, Probe((await sites.facts(tx, job.site_id)).domain, release=release))


async def _open(tx: Tx, job: SiteJob) -> Results:
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    await _move(tx, job, "running", after=("provisioning", "stopped", "failed", "running"))
    await environments.become(tx, environment.id, "running")
    if not facts.is_test:
        await certificates.request_certificate(tx, job.site_id, facts.domain, facts.region)
    return {"url": f"http://{facts.domain}/", "env_id": environment.id}


async def _open_first(tx: Tx, job: SiteJob) -> Results:
    await sites.tell(tx, job, DEPLOY_COMPLETED)
    results = await _open(tx, job)
    await push_builds.build_first_push(tx, job.site_id)
    return results


async def _open_recovered(tx: Tx, job: SiteJob) -> Results:
    facts = await sites.facts(tx, job.site_id)
    for environment in await environments.placed(tx, job.site_id):
        if not facts.is_test and environment.type != "production":
            await certificates.request_certificate(tx, job.site_id, environment.subdomain, facts.region)
    await sites.tell(tx, job, SITE_RECOVERED)
    return await _open(tx, job)


async def _restarted(tx: Tx, job: SiteJob) -> Results:
    await sites.tell(tx, job, SITE_RESTARTED)
    return await _open(tx, job)


async def _close(tx: Tx, job: SiteJob) -> None:
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    until = tx.now + RECOVERABLE
    if not await store.set_status(tx, job.site_id, "deleted", after=("deleting",), recoverable_until=until):
        raise Refused("site.busy", "The site is not being deleted any more.")
    await environments.become(tx, environment.id, "deleted")
    for host in (facts.domain, *await environments.go_along(tx, job.site_id)):
        await certificates.remove_certificate(tx, host)
    await sites.tell(tx, job, SITE_DELETED)


async def _move(tx: Tx, job: SiteJob, status: SiteStatus, *, after: tuple[SiteStatus, ...]) -> None:
    if not await store.set_status(tx, job.site_id, status, after=after):
        raise Refused("site.busy", f"The site cannot become {status} now.")


async def _deploy_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    environment = await environments.production(tx, job.site_id)
    if await store.set_status(tx, job.site_id, "failed", after=("provisioning",), reason=reason):
        await environments.become(tx, environment.id, "failed")
    await sites.tell(tx, job, DEPLOY_FAILED, reason=reason)


async def _restart_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    await sites.tell(tx, job, SITE_RESTART_FAILED, reason=reason)
    if not job.was_dispatched:
        return
    await store.set_status(tx, job.site_id, "failed", after=("running", "stopped", "failed"), reason=reason)


async def _deletion_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    """The site is served again: it goes on as it was."""
    before = job.params
    await store.set_status(
        tx, job.site_id, before.status_before, after=("deleting",), reason=before.reason_before
    )
    await sites.tell(tx, job, SITE_DELETION_FAILED, reason=reason)


async def _recovery_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    environment = await environments.production(tx, job.site_id)
    if await store.set_status(
        tx,
        job.site_id,
        "deleted",
        after=("provisioning",),
        recoverable_until=job.params.recoverable_until,
    ):
        await environments.become(tx, environment.id, "deleted")
        await environments.go_along(tx, job.site_id)
    await sites.tell(tx, job, SITE_RECOVERY_FAILED, reason=reason)


async def _purge_failed(_tx: Tx, _job: SiteJob, _reason: str) -> None:
    """It is still where it was, and is tried again."""


DEPLOY = Workflow(
    jobs.DEPLOY,
    steps=[
        control_step("place", _place, undo=_displace),
        node_step("environment", _ensure_environment, undo=_remove_environment),
        _ROUTE,
        node_step("probe", _probe),
        control_step("open", _open_first),
    ],
    failed=_deploy_failed,
)

RESTART = Workflow(
    jobs.RESTART,
    steps=[
        control_step("place", _place),
        node_step("environment", _ensure_environment),
        node_step("restart", _restart_environment),
        _ROUTE_AGAIN,
        node_step("probe", _probe),
        control_step("open", _restarted),
    ],
    failed=_restart_failed,
)

RECOVER = Workflow(
    jobs.RECOVER,
    steps=[
        control_step("place", _place_recovered),
        node_step("environment", _ensure_environment),
        _ROUTE,
        node_step("probe", _probe),
        control_step("open", _open_recovered),
    ],
    failed=_recovery_failed,
)

DELETE = Workflow(
    jobs.DELETE,
    steps=[
        _UNROUTE,
        control_step("close", _close),
    ],
    failed=_deletion_failed,
)

PURGE = Workflow(
    jobs.PURGE,
    steps=[
        node_step("environment", _remove_environment),
        announce_step("forget", _forget),
        control_step("displace", _displace),
    ],
    failed=_purge_failed,
)
