"""The jobs of sites, step by step, with what undoes each."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from stead.control.certificates import service as certificates
from stead.control.deployments import service as deployments
from stead.control.edge_feed import announcements as routing
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.declaration import (
    Announcement,
    Errand,
    Job,
    JobKind,
    Refused,
    Results,
    Step,
    ask,
    control,
    tell,
)
from stead.control.nodes import service as nodes
from stead.control.sites import service as sites
from stead.control.sites import store
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
OPENED: list[Callable[[Tx, str], Awaitable[None]]] = []
"""What other features do with a site in the transaction in which it is served for the first time."""


async def _errand_if_carried(tx: Tx, job: SiteJob, work: Work) -> Errand | None:
    """Where no node carries the site there is nothing to remove."""
    environment = await environments.production(tx, job.site_id)
    return None if environment.node_id is None else await sites.errand(tx, job.site_id, environment, work)


async def _errand(tx: Tx, job: SiteJob, work: Work) -> Errand:
    return await sites.errand(tx, job.site_id, await environments.production(tx, job.site_id), work)


async def _place(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    if environment.node_id is None:
        facts = await sites.facts(tx, job.site_id)
        node = await nodes.place(tx, facts.region, wanted_since=job.taken_up_at)
        await environments.put_on(tx, environment.id, node)


async def _place_recovered(tx: Tx, job: SiteJob) -> None:
    """With all that was deleted with it, which is served with it too."""
    await _place(tx, job)
    await environments.come_back(tx, job.site_id)


async def _displace(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    await environments.put_on(tx, environment.id, None)


async def _ensure_environment(tx: Tx, job: SiteJob) -> Errand | None:
    """With what it shows: its node may have lost its disk, or be another one."""
    environment = await environments.production(tx, job.site_id)
    release = await deployments.release_work(tx, environment.id)
    return await _errand(tx, job, EnsureEnvironment((await sites.facts(tx, job.site_id)).runtime, release))


async def _remove_environment(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand_if_carried(tx, job, RemoveEnvironment())


async def _restart_environment(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand(tx, job, RestartEnvironment((await sites.facts(tx, job.site_id)).runtime))


async def _serve(tx: Tx, job: SiteJob) -> Announcement | None:
    """With its redirects, which may have been set while no node carried it."""
    return await routing.serve_redirected(tx, job.site_id)


async def _withdraw(tx: Tx, job: SiteJob) -> Announcement | None:
    return await routing.withdraw_site(tx, job.site_id)


async def _forget(tx: Tx, job: SiteJob) -> Announcement | None:
    environment = await environments.production(tx, job.site_id)
    return await routing.withdraw_redirects(tx, environment.id)


async def _simulate_route(tx: Tx, job: SiteJob) -> Errand | None:
    """The simulator has no edge that could be told."""
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    hosts = (facts.domain, environment.subdomain)
    return await _errand_if_carried(tx, job, EnsureRoute(hosts)) if facts.is_test else None


async def _simulate_no_route(tx: Tx, job: SiteJob) -> Errand | None:
    facts = await sites.facts(tx, job.site_id)
    return await _errand_if_carried(tx, job, RemoveRoute()) if facts.is_test else None


_ROUTE = Step("route", ask=_simulate_route, tell=_serve, undo_ask=_simulate_no_route, undo_tell=_withdraw)
_ROUTE_AGAIN = Step("route", ask=_simulate_route, tell=_serve)
_UNROUTE = Step("route", ask=_simulate_no_route, tell=_withdraw, undo_ask=_simulate_route, undo_tell=_serve)


async def _probe(tx: Tx, job: SiteJob) -> Errand | None:
    environment = await environments.production(tx, job.site_id)
    shown = await deployments.current(tx, environment.id)
    release = release_of(shown.digest) if shown else ""
    return await _errand(tx, job, Probe((await sites.facts(tx, job.site_id)).domain, release=release))


async def _open(tx: Tx, job: SiteJob) -> Results:
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    await _move(tx, job, "running", after=("provisioning", "stopped", "failed", "running"))
    await environments.become(tx, environment.id, "running")
    if not facts.is_test:
        await certificates.want(tx, job.site_id, facts.domain, facts.region)
    return {"url": f"http://{facts.domain}/", "env_id": environment.id}


async def _open_first(tx: Tx, job: SiteJob) -> Results:
    await sites.tell(tx, job, "deploy.completed")
    results = await _open(tx, job)
    for opened in OPENED:
        await opened(tx, job.site_id)
    return results


async def _open_recovered(tx: Tx, job: SiteJob) -> Results:
    facts = await sites.facts(tx, job.site_id)
    for environment in await environments.placed(tx, job.site_id):
        if not facts.is_test and environment.type != "production":
            await certificates.want(tx, job.site_id, environment.subdomain, facts.region)
    await sites.tell(tx, job, "site.recovered")
    return await _open(tx, job)


async def _restarted(tx: Tx, job: SiteJob) -> Results:
    await sites.tell(tx, job, "site.restarted")
    return await _open(tx, job)


async def _close(tx: Tx, job: SiteJob) -> None:
    facts = await sites.facts(tx, job.site_id)
    environment = await environments.production(tx, job.site_id)
    until = tx.now + RECOVERABLE
    if not await store.set_status(tx, job.site_id, "deleted", after=("deleting",), recoverable_until=until):
        raise Refused("site.busy", "The site is not being deleted any more.")
    await environments.become(tx, environment.id, "deleted")
    for host in (facts.domain, *await environments.go_along(tx, job.site_id)):
        await certificates.forget(tx, host)
    await sites.tell(tx, job, "site.deleted")


async def _move(tx: Tx, job: SiteJob, status: SiteStatus, *, after: tuple[SiteStatus, ...]) -> None:
    if not await store.set_status(tx, job.site_id, status, after=after):
        raise Refused("site.busy", f"The site cannot become {status} now.")


async def _deploy_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    environment = await environments.production(tx, job.site_id)
    if await store.set_status(tx, job.site_id, "failed", after=("provisioning",), reason=reason):
        await environments.become(tx, environment.id, "failed")
    await sites.tell(tx, job, "deploy.failed", reason=reason)


async def _restart_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    await sites.tell(tx, job, "site.restart_failed", reason=reason)
    if not job.begun:
        return
    await store.set_status(tx, job.site_id, "failed", after=("running", "stopped", "failed"), reason=reason)


async def _deletion_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    """The site is served again: it goes on as it was."""
    before = job.params
    await store.set_status(
        tx, job.site_id, before.status_before, after=("deleting",), reason=before.reason_before
    )
    await sites.tell(tx, job, "site.deletion_failed", reason=reason)


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
    await sites.tell(tx, job, "site.recovery_failed", reason=reason)


async def _purge_failed(_tx: Tx, _job: SiteJob, _reason: str) -> None:
    """It is still where it was, and is tried again."""


DEPLOY = JobKind(
    "deployment.deploy",
    params=SiteWork,
    resource="deployment",
    lock="environment",
    limit=timedelta(minutes=10),
    results={"url", "env_id"},
    steps=[
        control("place", _place, undo=_displace),
        ask("environment", _ensure_environment, undo=_remove_environment),
        _ROUTE,
        ask("probe", _probe),
        control("open", _open_first),
    ],
    failed=_deploy_failed,
)

RESTART = JobKind(
    "site.restart",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
    steps=[
        control("place", _place),
        ask("environment", _ensure_environment),
        ask("restart", _restart_environment),
        _ROUTE_AGAIN,
        ask("probe", _probe),
        control("open", _restarted),
    ],
    failed=_restart_failed,
)

RECOVER = JobKind(
    "site.restart",
    variant="recover",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    results={"url", "env_id"},
    steps=[
        control("place", _place_recovered),
        ask("environment", _ensure_environment),
        _ROUTE,
        ask("probe", _probe),
        control("open", _open_recovered),
    ],
    failed=_recovery_failed,
)

DELETE = JobKind(
    "site.delete",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    steps=[
        _UNROUTE,
        control("close", _close),
    ],
    failed=_deletion_failed,
)

PURGE = JobKind(
    "site.delete",
    variant="purge",
    params=SiteWork,
    resource="site",
    lock="site",
    limit=timedelta(minutes=5),
    steps=[
        ask("environment", _remove_environment),
        tell("forget", _forget),
        control("displace", _displace),
    ],
    failed=_purge_failed,
)
