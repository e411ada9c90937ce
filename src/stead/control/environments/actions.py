"""The actions on environments. Each checks that the environment allows it now, and queues a job."""

from secrets import token_urlsafe

from stead.control.deployments import service as deployments
from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.environments import jobs as kinds
from stead.control.environments import maintenance, service, store
from stead.control.environments.events import ENV_RENEWED
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import (
    LEASE,
    PRODUCTION,
    EnvironmentBusy,
    EnvironmentExists,
    EnvironmentIsProduction,
    EnvironmentStatus,
    EnvironmentType,
    NothingToPush,
    ParentSite,
    PushNotAllowed,
    SiteNotRunning,
    VisibleEnvironment,
    host_labels,
    require_branch_name,
)
from stead.control.environments.schema import LeaseView, NewEnvironment, NewPush
from stead.control.exec.jobs import RUN_COMMAND
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import JobView
from stead.control.outbox.events import About, publish
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.shared.errors import CapabilityUnsupported, FieldInvalid
from stead.shared.ids import EnvironmentId, new_id
from stead.shared.secrets import digest

_SITE_UNAVAILABLE = ("provisioning", "deleting", "deleted")


async def create(tx: Tx, site_id: str, new: NewEnvironment, *, preview_domain: str) -> JobView:
    if (new.branch is None) == (new.type == "branch"):
        problem = "needs a branch name" if new.branch is None else "has no branch"
        raise FieldInvalid(param="branch", reason=f"A {new.type} environment {problem}.")
    if new.branch is not None:
        require_branch_name(new.branch)
    site = await _lock_running_site(tx, site_id)
    if await store.find_by_branch(tx, site.id, new.type, new.branch) is not None:
        raise _exists(new.type, new.branch)
    _, job = await _create(
        tx, site, new.type, new.branch, preview_domain=preview_domain, copy_uploads=new.copy_uploads
    )
    return job


async def create_for_branch(
    tx: Tx, site_id: str, branch: str, *, preview_domain: str
) -> tuple[EnvironmentId, JobView | None]:
    """Create the environment of a branch that was pushed. An existing one is used, without a job; one whose
    creation failed is created again."""
    require_branch_name(branch)
    site = await _lock_running_site(tx, site_id)
    found = await store.find_by_branch(tx, site.id, "branch", branch)
    if found is None:
        return await _create(tx, site, "branch", branch, preview_domain=preview_domain)
    await maintenance.record_branch_exists(tx, site_id, branch)
    if found.status == "deleting":
        raise EnvironmentBusy(status=found.status)
    if found.status != "failed" or found.node_id is not None:
        return found.id, None
    await service.set_status(tx, found.id, "provisioning", after=("failed",))
    work = EnvironmentWork(found.id, copy_uploads=False)
    return found.id, await service.enqueue_job(tx, kinds.CREATE, work, site.owner, site.id)


async def destroy(tx: Tx, env: VisibleEnvironment, docs_url: str) -> JobView:
    after: tuple[EnvironmentStatus, ...] = ("running", "suspended", "failed")
    return await _change_status(tx, env, "deleting", after=after, kind=kinds.DESTROY, docs_url=docs_url)


async def suspend(tx: Tx, env: VisibleEnvironment, docs_url: str) -> JobView:
    return await _change_status(
        tx, env, "suspending", after=("running",), kind=kinds.SUSPEND, docs_url=docs_url
    )


async def resume(tx: Tx, env: VisibleEnvironment) -> JobView:
    return await _change_status(tx, env, "provisioning", after=("suspended",), kind=kinds.RESUME)


async def refresh(tx: Tx, env: VisibleEnvironment) -> JobView:
    return await _change_content(tx, env, kinds.REFRESH)


async def reset(tx: Tx, env: VisibleEnvironment) -> JobView:
    return await _change_content(tx, env, kinds.RESET)


async def push(tx: Tx, caller: Principal, env: VisibleEnvironment, wanted: NewPush | None) -> JobView:
    """Push the content of an environment to production.

    The caller must see production, too. A key that is pinned to the environment does not.
    """
    production = await service.find_in_site(tx, caller, env.site_id, PRODUCTION)
    _require_not_production(env)
    mode = (wanted or NewPush()).mode
    if mode != "files" and env.runtime != "cms":
        raise CapabilityUnsupported(capability="database")
    if env.git_repo is not None and env.type != "staging":
        raise PushNotAllowed
    _require_running(env)
    await service.require_unlocked(tx, production.id)
    # The job changes two environments, so it has no environment of its own and locks the whole site.
    subject = jobs.Subject(env.site_id, env.owner, id=env.id, extra={"env_id": env.id})
    work = EnvironmentWork(env.id, push=mode)
    job = await jobs.enqueue(tx, kinds.PUSH, work, subject, scope=service.SCOPE)
    if env.runtime != "cms" and await deployments.find_live(tx, env.id) is None:
        raise NothingToPush
    return job


async def renew(tx: Tx, env: VisibleEnvironment) -> LeaseView:
    if env.status in ("deleting", "deleted"):
        raise EnvironmentBusy(status=env.status)
    lease = LeaseView(f"stead_metrics_{token_urlsafe(32)}", tx.now + LEASE)
    await store.set_lease(tx, env.id, digest(lease.metrics_token), lease.lease_expires_at)
    await publish(
        tx,
        ENV_RENEWED,
        About(account_id=env.account_id, team_id=env.team_id, site_id=env.site_id, env_id=env.id),
        domain=env.domain,
        subdomain=env.subdomain,
        type=env.type,
        branch=env.branch,
        lease_expires_at=lease.lease_expires_at.isoformat(),
    )
    return lease


async def _lock_running_site(tx: Tx, site_id: str) -> ParentSite:
    site = await store.lock_site(tx, site_id)
    if site is None or site.status != "running":
        raise SiteNotRunning(status="gone" if site is None else site.status)
    return site


async def _create(
    tx: Tx,
    site: ParentSite,
    type_: EnvironmentType,
    branch: str | None,
    *,
    preview_domain: str,
    copy_uploads: bool = False,
) -> tuple[EnvironmentId, JobView]:
    owner = Owner(site.account_id, site.team_id)
    await plans.require_room(tx, owner, "environments")
    if type_ == "branch":
        await plans.require_room(tx, owner, "branches", site=site.id)
    kind = kinds.CLONE if type_ == "staging" else kinds.CREATE
    env = EnvironmentId(new_id("env"))
    for label in host_labels(site.slug, type_, branch):
        try:
            inserted = await store.insert(tx, env, site.id, type_, branch, f"{label}.{preview_domain}")
        except UniqueViolation:
            raise _exists(type_, branch) from None
        if inserted:
            work = EnvironmentWork(env, copy_uploads=copy_uploads)
            return env, await service.enqueue_job(tx, kind, work, site.owner, site.id)
    raise _exists(type_, branch)


async def _change_status(
    tx: Tx,
    env: VisibleEnvironment,
    status: EnvironmentStatus,
    *,
    after: tuple[EnvironmentStatus, ...],
    kind: JobKind[EnvironmentWork],
    docs_url: str | None = None,
) -> JobView:
    """With `docs_url`, which their error needs, commands of customers are cancelled."""
    _require_not_production(env)
    if env.site_status in _SITE_UNAVAILABLE:
        raise SiteNotRunning(status=env.site_status)
    reason = await store.get_status_reason(tx, env.id)
    # A failed job returns to the status that the caller saw, so it must still be that one. Of two concurrent
    # requests the second is refused.
    if env.status not in after or not await service.set_status(tx, env.id, status, after=(env.status,)):
        raise EnvironmentBusy(status=env.status)
    if docs_url is not None:
        subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
        await jobs.cancel_unfinished(tx, RUN_COMMAND, subject, docs_url)
    work = EnvironmentWork(env.id, env.status, reason)
    return await service.enqueue_job(tx, kind, work, env.owner, env.site_id)


async def _change_content(tx: Tx, env: VisibleEnvironment, kind: JobKind[EnvironmentWork]) -> JobView:
    """The environment keeps its status: it stays in service while its content changes."""
    _require_not_production(env)
    _require_running(env)
    await service.require_unlocked(tx, env.id)
    return await service.enqueue_job(tx, kind, EnvironmentWork(env.id), env.owner, env.site_id)


def _require_not_production(env: VisibleEnvironment) -> None:
    if env.type == PRODUCTION:
        raise EnvironmentIsProduction


def _require_running(env: VisibleEnvironment) -> None:
    if env.site_status != "running":
        raise SiteNotRunning(status=env.site_status)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)


def _exists(type_: EnvironmentType, branch: str | None) -> EnvironmentExists:
    return EnvironmentExists(
        which=f"an environment for the branch {branch}" if branch else f"a {type_} environment"
    )
