"""The jobs of sites, step by step, with what undoes each."""

from datetime import timedelta

from stead.control.environments import service as environments
from stead.control.nodes import service as nodes
from stead.control.platform.database import Tx
from stead.control.platform.events import About, publish
from stead.control.platform.jobs import Errand, Job, JobKind, Refused, Results, ask, control
from stead.control.sites import store
from stead.control.sites.rules import RECOVERABLE, SiteStatus
from stead.control.sites.runtimes import Runtime
from stead.control.sites.work import SiteWork
from stead.protocol.commands import (
    EnsureEnvironment,
    EnsureRoute,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    Work,
)

SiteJob = Job[SiteWork]


class _Facts:
    """A site as its steps see it."""

    def __init__(self, domain: str, region: str, runtime: Runtime, mode: str, about: About) -> None:
        self.domain, self.region, self.runtime, self.about = domain, region, runtime, about
        self.is_test = mode == "test"


async def _facts(tx: Tx, job: SiteJob) -> _Facts:
    found = await store.facts(tx, job.site_id)
    if found is None:
        raise Refused("site.not_found", "The site is gone.")
    domain, region, runtime, mode, account, team = found
    about = About(account_id=account, team_id=team, site_id=job.site_id, job_id=job.id)
    return _Facts(domain, region, runtime, mode, about)  # type: ignore[arg-type]


async def _errand(tx: Tx, job: SiteJob, work: Work) -> Errand:
    """For the node that carries the site."""
    errand = await _errand_if_carried(tx, job, work)
    if errand is None:
        raise Refused("node.unavailable", "No node carries the site.")
    return errand


async def _errand_if_carried(tx: Tx, job: SiteJob, work: Work) -> Errand | None:
    """Where no node carries the site there is nothing to remove."""
    environment = await environments.production(tx, job.site_id)
    if environment.node_id is None:
        return None
    facts = await _facts(tx, job)
    return Errand(environment.node_id, environment.id, "sandbox" if facts.is_test else "live", work)


async def _place(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    if environment.node_id is None:
        facts = await _facts(tx, job)
        node = await nodes.place(tx, facts.region, wanted_since=job.created_at)
        await environments.put_on(tx, environment.id, node)


async def _displace(tx: Tx, job: SiteJob) -> None:
    environment = await environments.production(tx, job.site_id)
    await environments.put_on(tx, environment.id, None)


async def _ensure_environment(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand(tx, job, EnsureEnvironment((await _facts(tx, job)).runtime))


async def _remove_environment(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand_if_carried(tx, job, RemoveEnvironment())


async def _restart_environment(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand(tx, job, RestartEnvironment((await _facts(tx, job)).runtime))


async def _ensure_route(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand(tx, job, await _route(tx, job))


async def _restore_route(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand_if_carried(tx, job, await _route(tx, job))


async def _route(tx: Tx, job: SiteJob) -> EnsureRoute:
    environment = await environments.production(tx, job.site_id)
    return EnsureRoute(((await _facts(tx, job)).domain, environment.subdomain))


async def _remove_route(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand_if_carried(tx, job, RemoveRoute())


async def _probe(tx: Tx, job: SiteJob) -> Errand | None:
    return await _errand(tx, job, Probe((await _facts(tx, job)).domain))


async def _open(tx: Tx, job: SiteJob) -> Results:
    facts = await _facts(tx, job)
    environment = await environments.production(tx, job.site_id)
    await _move(tx, job, "running", after=("provisioning", "stopped", "failed", "running"))
    await environments.become(tx, environment.id, "running")
    return {"url": f"http://{facts.domain}/", "env_id": environment.id}


async def _open_first(tx: Tx, job: SiteJob) -> Results:
    facts = await _facts(tx, job)
    await publish(tx, "deploy.completed", facts.about, domain=facts.domain)
    return await _open(tx, job)


async def _open_recovered(tx: Tx, job: SiteJob) -> Results:
    facts = await _facts(tx, job)
    await publish(tx, "site.recovered", facts.about, domain=facts.domain)
    return await _open(tx, job)


async def _restarted(tx: Tx, job: SiteJob) -> Results:
    facts = await _facts(tx, job)
    await publish(tx, "site.restarted", facts.about, domain=facts.domain)
    return await _open(tx, job)


async def _close(tx: Tx, job: SiteJob) -> None:
    facts = await _facts(tx, job)
    environment = await environments.production(tx, job.site_id)
    until = tx.now + RECOVERABLE
    if not await store.set_status(tx, job.site_id, "deleted", after=("deleting",), recoverable_until=until):
        raise Refused("site.busy", "The site is not being deleted any more.")
    await environments.become(tx, environment.id, "deleted")
    await publish(tx, "site.deleted", facts.about, domain=facts.domain)


async def _move(tx: Tx, job: SiteJob, status: SiteStatus, *, after: tuple[SiteStatus, ...]) -> None:
    if not await store.set_status(tx, job.site_id, status, after=after):
        raise Refused("site.busy", f"The site cannot become {status} now.")


async def _deploy_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    facts = await _facts(tx, job)
    await store.set_status(tx, job.site_id, "failed", after=("provisioning",), reason=reason)
    await publish(tx, "deploy.failed", facts.about, domain=facts.domain, reason=reason)


async def _restart_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    await _tell_failure(tx, job, "site.restart_failed", reason)
    if not job.begun:
        return
    await store.set_status(tx, job.site_id, "failed", after=("running", "stopped", "failed"), reason=reason)


async def _deletion_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    """The site is served again: it goes on as it was."""
    before = job.params.status_before
    await store.set_status(
        tx, job.site_id, before, after=("deleting",), reason=reason if before == "failed" else None
    )
    await _tell_failure(tx, job, "site.deletion_failed", reason)


async def _recovery_failed(tx: Tx, job: SiteJob, reason: str) -> None:
    await store.set_status(
        tx,
        job.site_id,
        "deleted",
        after=("provisioning",),
        recoverable_until=job.params.recoverable_until,
    )
    await _tell_failure(tx, job, "site.recovery_failed", reason)


async def _tell_failure(tx: Tx, job: SiteJob, event: str, reason: str) -> None:
    facts = await _facts(tx, job)
    await publish(tx, event, facts.about, domain=facts.domain, reason=reason)


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
        ask("route", _ensure_route, undo=_remove_route),
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
        ask("route", _ensure_route),
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
        control("place", _place),
        ask("environment", _ensure_environment),
        ask("route", _ensure_route, undo=_remove_route),
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
        ask("route", _remove_route, undo=_restore_route),
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
        control("displace", _displace),
    ],
    failed=_purge_failed,
)
