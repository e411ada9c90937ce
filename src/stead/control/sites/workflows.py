"""The jobs of sites: their steps, each next to its undo."""

from stead.control.backups.snapshot_steps import build_snapshot_steps
from stead.control.certificates import service as certificates
from stead.control.deployments import service as deployments
from stead.control.deployments.events import DEPLOY_COMPLETED, DEPLOY_FAILED
from stead.control.domains import service as domains
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
from stead.control.functions import service as functions
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
from stead.control.sites import jobs, node_commands, relocation, store
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
from stead.control.sites.rules import RECOVERABLE, SiteBusy, SiteStatus
from stead.control.wordpress import service as wordpress
from stead.protocol.work.hosting import EnsureEnvironment, Probe, RemoveEnvironment, RestartEnvironment
from stead.protocol.work.releases import release_of

SiteJob = Job[SiteWork]


async def _place(tx: Tx, job: SiteJob) -> None:
    environment = await environments.get_production(tx, job.site_id)
    if environment.node_id is None:
        facts = await sites.get_facts(tx, job.site_id)
        node = await nodes.choose_node(
            tx,
            facts.region,
            facts.needed_runtime,
            waiting_since=job.dispatched_at,
            disk_mb=0 if facts.is_test else await wordpress.get_promised_mb(tx, job.site_id),
        )
        await environments.set_node(tx, environment.id, node)


async def _place_recovered(tx: Tx, job: SiteJob) -> None:
    """The environments that were deleted with the site are restored before the route step announces them."""
    await _place(tx, job)
    await environments.restore_with_site(tx, job.site_id)


async def _remove_placement(tx: Tx, job: SiteJob) -> None:
    environment = await environments.get_production(tx, job.site_id)
    await environments.set_node(tx, environment.id, None)


async def _finish_purge(tx: Tx, job: SiteJob) -> None:
    await _remove_placement(tx, job)
    await domains.release_site(tx, job.site_id)


async def _ensure_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    """With its release: the node may be a new one, or may have lost its disk."""
    environment = await environments.get_production(tx, job.site_id)
    release = await deployments.find_live_release(tx, environment.id)
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    settings = await wordpress.build_settings(tx, environment, host)
    runtime = (await sites.get_facts(tx, job.site_id)).runtime
    served = await functions.list_work(tx, job.site_id) if runtime == "wasm" else ()
    work = EnsureEnvironment(runtime, release, settings, functions=served)
    return await node_commands.build_environment_command(tx, environment, work)


async def _suspend_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    return await node_commands.suspend(tx, await environments.get_production(tx, job.site_id), job)


async def _resume_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    if not await node_commands.has_reachable_processes(tx, environment, job):
        return None
    return await _ensure_environment(tx, job)


async def _remove_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    return await node_commands.build_command_if_placed(tx, environment, RemoveEnvironment())


async def _restart_environment(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    work = RestartEnvironment((await sites.get_facts(tx, job.site_id)).runtime)
    return await node_commands.build_environment_command(tx, environment, work)


async def _serve(tx: Tx, job: SiteJob) -> Announcement | None:
    """Includes the redirects: they may have been changed while no node hosted the site."""
    return await announcements.serve_site_with_redirects(tx, job.site_id)


async def _withdraw(tx: Tx, job: SiteJob) -> Announcement | None:
    return await announcements.withdraw_site(tx, job.site_id)


async def _withdraw_redirects(tx: Tx, job: SiteJob) -> Announcement | None:
    environment = await environments.get_production(tx, job.site_id)
    return await announcements.withdraw_redirects(tx, environment.id)


async def _simulate_route(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    names = await domains.list_served_hosts(tx, environment.id)
    return await node_commands.simulate_route(tx, environment, *names, environment.subdomain)


async def _simulate_route_removal(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    return await node_commands.simulate_route_removal(tx, environment)


_ROUTE = Step(
    "route",
    command=_simulate_route,
    announce=_serve,
    undo_command=_simulate_route_removal,
    undo_announce=_withdraw,
)
_ROUTE_WITHOUT_UNDO = Step("route", command=_simulate_route, announce=_serve)
_REMOVE_ROUTE = Step(
    "route",
    command=_simulate_route_removal,
    announce=_withdraw,
    undo_command=_simulate_route,
    undo_announce=_serve,
)


async def _probe(tx: Tx, job: SiteJob) -> NodeCommand | None:
    environment = await environments.get_production(tx, job.site_id)
    live = await deployments.find_live(tx, environment.id)
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    work = Probe(host, release=release_of(live.digest) if live else "")
    return await node_commands.build_environment_command(tx, environment, work)


async def _mark_running(tx: Tx, job: SiteJob) -> Results:
    """The site is in service; from now on its verified names and its preview host need certificates. A site
    that waits for its first push goes on waiting."""
    environment = await environments.get_production(tx, job.site_id)
    after: tuple[SiteStatus, ...] = ("provisioning", "stopped", "failed", "running")
    is_waiting = await store.is_awaiting_push(tx, job.site_id)
    if not is_waiting and not await store.set_status(tx, job.site_id, "running", after=after):
        raise Refused(SiteBusy.code, "The site cannot become running now.")
    await environments.set_status(tx, environment.id, "running")
    await wordpress.finish_installation(tx, job.site_id)
    await domains.request_certificates(tx, job.site_id)
    await _request_preview_certificate(tx, job.site_id, environment.subdomain)
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    return {"url": f"https://{host}/", "env_id": environment.id}


async def _finish_deployment(tx: Tx, job: SiteJob) -> Results:
    await sites.publish_job_event(tx, job, DEPLOY_COMPLETED)
    results = await _mark_running(tx, job)
    await push_builds.build_first_push(tx, job.site_id)
    return results


async def _request_preview_certificate(tx: Tx, site: str, host: str) -> None:
    facts = await sites.get_facts(tx, site)
    if not facts.is_test:
        await certificates.request_certificate(tx, site, host, facts.region)


async def _finish_recovery(tx: Tx, job: SiteJob) -> Results:
    for environment in await environments.list_placed(tx, job.site_id):
        await _request_preview_certificate(tx, job.site_id, environment.subdomain)
    await sites.publish_job_event(tx, job, SITE_RECOVERED)
    return await _mark_running(tx, job)


async def _finish_restart(tx: Tx, job: SiteJob) -> Results:
    await sites.publish_job_event(tx, job, SITE_RESTARTED)
    return await _mark_running(tx, job)


async def _find_deleted_environment(tx: Tx, job: SiteJob) -> Environment | None:
    """None if nothing could be copied: the site is on no node, on a lost one, or on one that replaced a lost
    one."""
    environment = await environments.get_production(tx, job.site_id)
    node = await nodes.find(tx, environment.node_id) if environment.node_id else None
    if node is None or node.is_lost(tx.now) or await relocation.was_moved(tx, job, environment):
        return None
    return environment


async def _finish_deletion(tx: Tx, job: SiteJob) -> None:
    """The site keeps its names while it can be recovered."""
    environment = await environments.get_production(tx, job.site_id)
    until = tx.now + RECOVERABLE
    if not await store.set_status(tx, job.site_id, "deleted", after=("deleting",), recoverable_until=until):
        raise Refused(SiteBusy.code, "The site is not being deleted any more.")
    await environments.set_status(tx, environment.id, "deleted")
    await domains.stop_checks(tx, job.site_id)
    await domains.remove_certificates(tx, job.site_id)
    for host in (environment.subdomain, *await environments.delete_with_site(tx, job.site_id)):
        await certificates.remove_certificate(tx, host)
    await sites.publish_job_event(tx, job, SITE_DELETED)


async def _deployment_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    environment = await environments.get_production(tx, job.site_id)
    if await store.set_status(tx, job.site_id, "failed", after=("provisioning",), reason=reason):
        await environments.set_status(tx, environment.id, "failed")
    await sites.publish_job_event(tx, job, DEPLOY_FAILED, reason=reason)


async def _restart_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    """A job that was never dispatched changed nothing, so the site keeps its status."""
    await sites.publish_job_event(tx, job, SITE_RESTART_FAILED, reason=reason)
    if not job.was_dispatched:
        return
    after: tuple[SiteStatus, ...] = ("running", "stopped", "failed", "awaiting_push")
    await store.set_status(tx, job.site_id, "failed", after=after, reason=reason)


async def _deletion_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    """The undo has announced the site again, so it returns to the status before the job."""
    work = job.params
    after: tuple[SiteStatus, ...] = ("deleting",)
    if await store.set_status(tx, job.site_id, work.status_before, after=after, reason=work.reason_before):
        await relocation.restore_if_moved(tx, job)
    await sites.publish_job_event(tx, job, SITE_DELETION_FAILED, reason=reason)


async def _recovery_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    environment = await environments.get_production(tx, job.site_id)
    if await store.set_status(
        tx,
        job.site_id,
        "deleted",
        after=("provisioning",),
        recoverable_until=job.params.recoverable_until,
    ):
        await environments.set_status(tx, environment.id, "deleted")
        await environments.delete_with_site(tx, job.site_id)
        await domains.stop_checks(tx, job.site_id)
    await sites.publish_job_event(tx, job, SITE_RECOVERY_FAILED, reason=reason)


async def _purge_failed(_tx: Tx, _job: SiteJob, _reason: str) -> None:
    """Nothing to record: production is still placed, so another purge is queued."""


DEPLOY = Workflow(
    jobs.DEPLOY,
    steps=[
        control_step("place", _place, undo=_remove_placement),
        node_step("environment", _ensure_environment, undo=_remove_environment),
        _ROUTE,
        node_step("probe", _probe),
        control_step("open", _finish_deployment),
    ],
    failed=_deployment_failed,
)

RESTART = Workflow(
    jobs.RESTART,
    steps=[
        control_step("place", _place),
        node_step("environment", _ensure_environment),
        node_step("restart", _restart_environment),
        _ROUTE_WITHOUT_UNDO,
        node_step("probe", _probe),
        control_step("open", _finish_restart),
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
        control_step("open", _finish_recovery),
    ],
    failed=_recovery_failed,
)

DELETE = Workflow(
    jobs.DELETE,
    steps=[
        *build_snapshot_steps("site_deleted", _find_deleted_environment, need="if_supported"),
        _REMOVE_ROUTE,
        node_step("processes", _suspend_environment, undo=_resume_environment),
        control_step("close", _finish_deletion),
    ],
    failed=_deletion_failed,
)

PURGE = Workflow(
    jobs.PURGE,
    steps=[
        node_step("environment", _remove_environment),
        announce_step("forget", _withdraw_redirects),
        control_step("displace", _finish_purge),
    ],
    failed=_purge_failed,
)
