"""What callers and other features do with environments, each inside the caller's transaction."""

from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe

from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.environments import jobs as kinds
from stead.control.environments import store
from stead.control.environments.events import ENV_DESTROY_CALLED_OFF, ENV_DESTROY_SCHEDULED, ENV_RENEWED
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import (
    GRACE,
    LEASE,
    PRODUCTION,
    Environment,
    EnvironmentBusy,
    EnvironmentExists,
    EnvironmentIsProduction,
    EnvironmentNotFound,
    EnvironmentStatus,
    EnvironmentType,
    Home,
    PushNotAllowed,
    SiteNotRunning,
    VisibleEnvironment,
    before,
    labels,
    require_branch_name,
    returns_to,
)
from stead.control.environments.schema import EnvironmentView, LeaseView, NewEnvironment, NewPush
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import JobView
from stead.control.nodes.rules import LOST_AFTER
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.protocol.commands import Activity
from stead.shared.errors import CapabilityUnsupported, FieldInvalid
from stead.shared.ids import EnvironmentId, SiteId, has_shape, new_id
from stead.shared.secrets import digest

Kind = JobKind[EnvironmentWork]
SCOPE = "environments:write"
AT_ONCE = 20
"""How many a chore takes up in one transaction."""
_SITE_AWAY = ("provisioning", "deleting", "deleted")


async def visible_environment(call: Call, site_id: str, env_id: str) -> VisibleEnvironment:
    return await find_of_site(call.tx, call.caller, site_id, env_id)


async def find_of_site(tx: Tx, caller: Principal, site_id: str, env_id: str) -> VisibleEnvironment:
    """`production` is as good as its id."""
    well_formed = has_shape("site", site_id) and (env_id == PRODUCTION or has_shape("env", env_id))
    env = await store.find_of_site(tx, caller, site_id, env_id) if well_formed else None
    if env is None:
        raise EnvironmentNotFound
    return env


async def find(tx: Tx, caller: Principal, env_id: str) -> VisibleEnvironment:
    env = await store.find(tx, caller, env_id) if has_shape("env", env_id) else None
    if env is None:
        raise EnvironmentNotFound
    return env


async def view(tx: Tx, env: VisibleEnvironment) -> EnvironmentView:
    found = await store.view(tx, env)
    if found is None:
        raise EnvironmentNotFound
    return found


async def browse(tx: Tx, site: SiteId, page: PageRequest) -> Page[EnvironmentView]:
    return await store.page(tx, site, page)


async def create(tx: Tx, site: str, new: NewEnvironment, *, preview_domain: str) -> JobView:
    if (new.branch is None) == (new.type == "branch"):
        which = "needs the name of a branch" if new.branch is None else "has no branch"
        raise FieldInvalid(param="branch", reason=f"A {new.type} environment {which}.")
    if new.branch is not None:
        require_branch_name(new.branch)
    home = await _open_home(tx, site)
    if await store.of_branch(tx, home.id, new.type, new.branch) is not None:
        raise _exists(new.type, new.branch)
    _, job = await _create(tx, home, new.type, new.branch, preview_domain=preview_domain)
    return job


async def create_branch(
    tx: Tx, site: str, branch: str, *, preview_domain: str
) -> tuple[EnvironmentId, JobView | None]:
    """For whoever acts on behalf of the site itself, as a push to its repository does.

    Without a job where the environment is there already; one that could not be made is tried again.
    """
    require_branch_name(branch)
    home = await _open_home(tx, site)
    found = await store.of_branch(tx, home.id, "branch", branch)
    if found is None:
        return await _create(tx, home, "branch", branch, preview_domain=preview_domain)
    await branch_seen(tx, site, branch)
    if found.status == "deleting":
        raise EnvironmentBusy(status=found.status)
    if found.status != "failed" or found.node_id is not None:
        return found.id, None
    await become(tx, found.id, "provisioning", after=("failed",))
    return found.id, await _enqueue(tx, kinds.CREATE, EnvironmentWork(found.id), home.owner, home.id)


async def destroy(tx: Tx, env: VisibleEnvironment) -> JobView:
    _require_clone(env)
    return await _moved(tx, env, "deleting", after=("running", "suspended", "failed"), kind=kinds.DESTROY)


async def suspend(tx: Tx, env: VisibleEnvironment) -> JobView:
    _require_clone(env)
    return await _moved(tx, env, "suspending", after=("running",), kind=kinds.SUSPEND)


async def resume(tx: Tx, env: VisibleEnvironment) -> JobView:
    _require_clone(env)
    return await _moved(tx, env, "provisioning", after=("suspended",), kind=kinds.RESUME)


async def refresh(tx: Tx, env: VisibleEnvironment) -> JobView:
    return await _change_content(tx, env, kinds.REFRESH)


async def reset(tx: Tx, env: VisibleEnvironment) -> JobView:
    return await _change_content(tx, env, kinds.RESET)


async def _change_content(tx: Tx, env: VisibleEnvironment, kind: Kind) -> JobView:
    """The environment stays in service meanwhile."""
    _require_clone(env)
    _require_running(env)
    return await _enqueue(tx, kind, EnvironmentWork(env.id), env.owner, env.site_id)


async def push(tx: Tx, env: VisibleEnvironment, wanted: NewPush | None) -> JobView:
    _require_clone(env)
    if (wanted or NewPush()).mode != "files" and env.runtime != "cms":
        raise CapabilityUnsupported(capability="database")
    if env.git_repo is not None and env.type != "staging":
        raise PushNotAllowed
    _require_running(env)
    # It changes two environments, so nothing else of the site runs meanwhile.
    subject = jobs.Subject(env.site_id, env.owner, id=env.id, extra={"env_id": env.id})
    return await jobs.enqueue(tx, kinds.PUSH, EnvironmentWork(env.id), subject, scope=SCOPE)


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


async def suspend_idle(tx: Tx, days: int) -> int:
    """Branch environments that nobody visits are paused."""
    found = await store.idle(tx, tx.now - timedelta(days=days), AT_ONCE)
    why = f"Nobody visited it for {days} days."
    for env, site, owner, status, reason in found:
        await become(tx, env, "suspending", after=(status,))
        await _enqueue(tx, kinds.SUSPEND, EnvironmentWork(env, status, reason, why), owner, site)
    return len(found)


async def destroy_abandoned(tx: Tx) -> int:
    """Environments do not outlive their branch by more than the grace."""
    found = await store.abandoned(tx, tx.now - GRACE, AT_ONCE)
    for env, site, owner, status, reason in found:
        await become(tx, env, "deleting", after=(status,))
        work = EnvironmentWork(env, status, reason, "Its branch is gone.")
        await _enqueue(tx, kinds.DESTROY, work, owner, site)
    return len(found)


async def branch_gone(tx: Tx, site: str, branch: str) -> None:
    """The branch was deleted: its environment follows after the grace, unless the branch comes back."""
    for env in await store.set_branch_gone(tx, site, branch):
        await tell(tx, env, ENV_DESTROY_SCHEDULED, destroy_at=(tx.now + GRACE).isoformat())


async def branch_seen(tx: Tx, site: str, branch: str) -> None:
    """The branch is there."""
    for env in await store.set_branch_seen(tx, site, branch):
        await tell(tx, env, ENV_DESTROY_CALLED_OFF)


async def visited(tx: Tx, activity: Activity) -> None:
    """A node tells when what it carries was last visited."""
    moments = [datetime.fromtimestamp(moment, UTC) for moment in activity.visited.values()]
    await store.visited(tx, activity.node, list(activity.visited), moments)


async def report(tx: Tx) -> None:
    """What has lost its node says so, and runs again once the node is back. Of production its site tells."""
    since = tx.now - LOST_AFTER
    for env, reason in await store.lost(tx, since):
        await become(tx, env, "failed", after=("running",), reason=reason)
    for env in await store.back(tx, since):
        await become(tx, env, "running", after=("failed",))


async def create_production(tx: Tx, site: SiteId, subdomain: str) -> EnvironmentId:
    env = EnvironmentId(new_id("env"))
    await store.insert_production(tx, env, site, subdomain)
    return env


async def production(tx: Tx, site: str) -> Environment:
    found = await store.production(tx, site)
    if found is None:
        raise LookupError(f"{site} has no production environment")
    return found


async def staging(tx: Tx, site: str) -> Environment | None:
    return await store.of_branch(tx, site, "staging", None)


async def get(tx: Tx, env: str) -> Environment:
    found = await store.get(tx, env)
    if found is None:
        raise LookupError(f"there is no environment {env}")
    return found


async def put_on(tx: Tx, env: EnvironmentId, node: str | None) -> None:
    await store.set_node(tx, env, node)


async def become(
    tx: Tx,
    env: str,
    status: EnvironmentStatus,
    *,
    after: tuple[EnvironmentStatus, ...] | None = None,
    reason: str | None = None,
) -> bool:
    """Whether it was where it may become this from, or is this already."""
    allowed = (*before(status), status)
    if after is not None and not set(after) <= set(allowed):
        raise LookupError(f"none of {after} becomes {status}")
    return await store.set_status(tx, env, status, after=allowed if after is None else after, reason=reason)


async def show(tx: Tx, env: str, release: str | None) -> None:
    """What its record of the edge says from its next announcement on; None is the placeholder."""
    await store.show(tx, env, release)


async def came_from(tx: Tx, env: str, ref: str | None) -> None:
    await store.set_git_ref(tx, env, ref)


async def carried(tx: Tx, site: str) -> list[str]:
    return await store.carried(tx, site)


async def placed(tx: Tx, site: str) -> list[Environment]:
    """Those that a node has files of, also after their deletion; production first."""
    return await store.placed(tx, site)


async def count(tx: Tx, site: str) -> int:
    """How many it has besides production."""
    return len(await store.clones(tx, site))


async def go_along(tx: Tx, site: str) -> list[str]:
    """What a site has besides production is deleted with it; the hosts that lead nowhere from now on."""
    gone = await store.clones(tx, site)
    for env in gone:
        await become(tx, env.id, "deleted")
        await store.note_return(tx, env.id, returns_to(env.status))
    return [env.subdomain for env in gone]


async def to_come_back(tx: Tx, site: str) -> int:
    return len(await store.taken_along(tx, site))


async def come_back(tx: Tx, site: str) -> list[str]:
    """And comes back with it, as it was; the hosts that lead somewhere again."""
    back = await store.taken_along(tx, site)
    for env, status, _ in back:
        await become(tx, env, status, after=("deleted",))
    return [host for _, _, host in back]


async def tell(tx: Tx, env: Environment, event: EventType, job: str | None = None, **data: Fact) -> None:
    """Publish what happened to an environment, to whoever owns its site now."""
    owner = await store.owner(tx, env.site_id)
    about = About(
        account_id=owner.account_id, team_id=owner.team_id, site_id=env.site_id, env_id=env.id, job_id=job
    )
    named = {"domain": owner.domain, "subdomain": env.subdomain, "type": env.type, "branch": env.branch}
    await publish(tx, event, about, **named, **data)


async def _open_home(tx: Tx, site: str) -> Home:
    home = await store.home(tx, site)
    if home is None or home.status != "running":
        raise SiteNotRunning(status="gone" if home is None else home.status)
    return home


async def _create(
    tx: Tx, home: Home, type_: EnvironmentType, branch: str | None, *, preview_domain: str
) -> tuple[EnvironmentId, JobView]:
    owner = Owner(home.account_id, home.team_id)
    await plans.require_room(tx, owner, "environments")
    if type_ == "branch":
        await plans.require_room(tx, owner, "branches", site=home.id)
    kind = kinds.CLONE if type_ == "staging" else kinds.CREATE
    env = EnvironmentId(new_id("env"))
    for label in labels(home.slug, type_, branch):
        try:
            inserted = await store.insert(tx, env, home.id, type_, branch, f"{label}.{preview_domain}")
        except UniqueViolation:
            raise _exists(type_, branch) from None
        if inserted:
            return env, await _enqueue(tx, kind, EnvironmentWork(env), home.owner, home.id)
    raise _exists(type_, branch)


async def _moved(
    tx: Tx,
    env: VisibleEnvironment,
    status: EnvironmentStatus,
    *,
    after: tuple[EnvironmentStatus, ...],
    kind: Kind,
) -> JobView:
    if env.site_status in _SITE_AWAY:
        raise SiteNotRunning(status=env.site_status)
    reason = await store.status_reason(tx, env.id)
    # What it was when it was looked up is what a failure goes back to; of two at once the second is refused.
    if env.status not in after or not await become(tx, env.id, status, after=(env.status,)):
        raise EnvironmentBusy(status=env.status)
    work = EnvironmentWork(env.id, env.status, reason)
    return await _enqueue(tx, kind, work, env.owner, env.site_id)


async def _enqueue(tx: Tx, kind: Kind, work: EnvironmentWork, owner: str, site: str) -> JobView:
    return await jobs.enqueue(tx, kind, work, jobs.Subject(site, owner, env_id=work.environment), scope=SCOPE)


def _require_clone(env: VisibleEnvironment) -> None:
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
