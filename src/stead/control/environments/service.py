"""Reading environments and changing their state, inside the caller's transaction. Other features use this."""

from msgspec import structs

from stead.control.deployments import permanent_urls
from stead.control.engines.postgres import Tx
from stead.control.environments import store
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import (
    PRODUCTION,
    Environment,
    EnvironmentLocked,
    EnvironmentNotFound,
    EnvironmentStatus,
    VisibleEnvironment,
    VisibleProduction,
    previous_statuses,
    status_after_recovery,
)
from stead.control.environments.schema import EnvironmentView, LockView, NewLock
from stead.control.environments.store import SiteOwner
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import JobKind
from stead.control.jobs.schema import JobView
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.sites.rules import SiteNotFound
from stead.shared.ids import EnvironmentId, SiteId, has_shape, new_id

SCOPE = "environments:write"


async def visible_environment(call: Call, site_id: str, env_id: str) -> VisibleEnvironment:
    return await find_in_site(call.tx, call.caller, site_id, env_id)


async def visible_production(call: Call, site_id: str) -> VisibleProduction:
    found = (
        await store.find_production_of(call.tx, call.caller, site_id) if has_shape("site", site_id) else None
    )
    if found is None:
        raise SiteNotFound
    return found


async def find_in_site(tx: Tx, caller: Principal, site_id: str, env_id: str) -> VisibleEnvironment:
    """Find an environment of a site by its identifier, or by `production`."""
    well_formed = has_shape("site", site_id) and (env_id == PRODUCTION or has_shape("env", env_id))
    env = await store.find_in_site(tx, caller, site_id, env_id) if well_formed else None
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


async def get(tx: Tx, env: str) -> Environment:
    found = await store.get(tx, env)
    if found is None:
        raise LookupError(f"there is no environment {env}")
    return found


async def get_production(tx: Tx, site: str) -> Environment:
    found = await store.find_production(tx, site)
    if found is None:
        raise LookupError(f"{site} has no production environment")
    return found


async def find_staging(tx: Tx, site: str) -> Environment | None:
    return await store.find_by_branch(tx, site, "staging", None)


async def list_hosted(tx: Tx, site: str) -> list[str]:
    """The environments of a site that are on a node, without deleted ones. Production comes first."""
    return await store.list_hosted(tx, site)


async def list_placed(tx: Tx, site: str) -> list[Environment]:
    """The environments of a site with files on a node, including deleted ones. Production comes first."""
    return await store.list_placed(tx, site)


async def count_clones(tx: Tx, site: str) -> int:
    """How many environments a site has besides production."""
    return len(await store.list_clones(tx, site))


async def create_production(tx: Tx, site: SiteId, subdomain: str) -> EnvironmentId:
    env = EnvironmentId(new_id("env"))
    await store.insert_production(tx, env, site, subdomain)
    return env


async def set_node(tx: Tx, env: EnvironmentId, node: str | None) -> None:
    await store.set_node(tx, env, node)
    await permanent_urls.end_replaced(tx, env)


async def set_status(
    tx: Tx,
    env: str,
    status: EnvironmentStatus,
    *,
    after: tuple[EnvironmentStatus, ...] | None = None,
    reason: str | None = None,
) -> bool:
    """Change the status if the current one allows it: one of `after`, or any that the rules allow.

    Returns whether the environment has the status now.
    """
    allowed = (*previous_statuses(status), status)
    if after is not None and not set(after) <= set(allowed):
        raise LookupError(f"none of {after} may change to {status}")
    has_status = await store.set_status(
        tx, env, status, after=allowed if after is None else after, reason=reason
    )
    if has_status and status == "deleted":
        await permanent_urls.end_replaced(tx, env)
    return has_status


async def set_release(tx: Tx, env: str, release: str | None) -> None:
    """Set the release that the next announcement tells the edges to serve; None is the placeholder page."""
    await store.set_release(tx, env, release)


async def set_dataset(tx: Tx, env: str, dataset: str) -> None:
    """Record which schema the environment uses."""
    await store.set_dataset(tx, env, dataset)


async def is_data_lost(tx: Tx, env: str) -> bool:
    """Whether its files and rows were on a node that is lost for good, and nothing has replaced them."""
    return await store.is_data_lost(tx, env)


async def set_git_ref(tx: Tx, env: str, ref: str | None) -> None:
    await store.set_git_ref(tx, env, ref)


async def delete_with_site(tx: Tx, site: str) -> list[str]:
    """Mark the clones of a site as deleted and remember their status for a recovery. Returns their hosts."""
    clones = await store.list_clones(tx, site)
    for env in clones:
        await set_status(tx, env.id, "deleted")
        await store.set_status_after_recovery(tx, env.id, status_after_recovery(env.status))
    return [env.subdomain for env in clones]


async def count_restorable(tx: Tx, site: str) -> int:
    """How many environments a recovery of the site would restore."""
    return len(await store.list_deleted_with_site(tx, site))


async def restore_with_site(tx: Tx, site: str) -> None:
    """Give the environments that were deleted with their site their earlier status."""
    for env, status in await store.list_deleted_with_site(tx, site):
        await set_status(tx, env, status, after=("deleted",))


async def publish_event(
    tx: Tx, env: Environment, event: EventType, job: str | None = None, **data: Fact
) -> None:
    """Publish an event about an environment to the current owner of its site."""
    owner = await store.get_site_owner(tx, env.site_id)
    about = About(
        account_id=owner.account_id, team_id=owner.team_id, site_id=env.site_id, env_id=env.id, job_id=job
    )
    named = {"domain": owner.domain, "subdomain": env.subdomain, "type": env.type, "branch": env.branch}
    await publish(tx, event, about, **named, **data)


async def get_site_owner(tx: Tx, site: str) -> SiteOwner:
    return await store.get_site_owner(tx, site)


async def enqueue_job(
    tx: Tx,
    kind: JobKind[EnvironmentWork],
    work: EnvironmentWork,
    owner: str,
    site: str,
    *,
    by_platform: bool = False,
) -> JobView:
    work = structs.replace(work, node=(await get(tx, work.environment)).node_id)
    subject = jobs.Subject(site, owner, env_id=work.environment)
    return await jobs.enqueue(tx, kind, work, subject, scope=SCOPE, by_platform=by_platform)


async def lock(tx: Tx, env: VisibleEnvironment, wanted: NewLock) -> LockView:
    """Keep what the environment serves. Locking again replaces the reason."""
    await store.lock(tx, env, wanted.reason)
    return LockView(wanted.reason, tx.now)


async def unlock(tx: Tx, env: VisibleEnvironment) -> None:
    await store.unlock(tx, env)


async def require_unlocked(tx: Tx, env: str) -> None:
    """For everything that changes the release of an environment."""
    if (reason := await store.find_lock_reason(tx, env)) is not None:
        raise EnvironmentLocked(reason=reason)
