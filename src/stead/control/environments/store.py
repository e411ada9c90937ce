"""Queries of environments."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.environments.events import ENV_STATUS_CHANGED
from stead.control.environments.rules import (
    Environment,
    EnvironmentStatus,
    EnvironmentType,
    ParentSite,
    VisibleEnvironment,
    VisibleProduction,
)
from stead.control.environments.schema import EnvironmentView
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Mode, Principal
from stead.control.outbox.events import About, publish
from stead.control.sites.visibility import viewer, visible_rows, with_role
from stead.shared.ids import EnvironmentId, SiteId

COLUMNS = "id, site_id, type, branch, subdomain, status, node_id, created_at"
_VIEW = ", ".join(f"e.{field}" for field in EnvironmentView.__struct_fields__)
_IS_CLONE = "e.type <> 'production' and e.status <> 'deleted'"
_VISIBLE = f"""
  select e.id, e.site_id, s.account_id, s.team_id, s.domain, s.status, s.runtime, s.git_repo,
    e.type, e.branch, e.subdomain, e.status, m.role
  {visible_rows("environments e join sites s on s.id = e.site_id", environment="e.id")}
  and (e.type = 'production' or e.status <> 'deleted')
"""


@dataclass(frozen=True, slots=True)
class SiteOwner:
    account_id: str | None
    team_id: str | None
    domain: str
    mode: Mode


async def find(tx: Tx, caller: Principal, env: str) -> VisibleEnvironment | None:
    return await tx.one(with_role(VisibleEnvironment), f"{_VISIBLE} and e.id = $7", *viewer(tx, caller), env)


async def find_in_site(tx: Tx, caller: Principal, site: str, env: str) -> VisibleEnvironment | None:
    """`env` is an identifier or `production`."""
    return await tx.one(
        with_role(VisibleEnvironment),
        f"{_VISIBLE} and s.id = $7 and case when $8 = 'production' then e.type = $8 else e.id = $8 end",
        *viewer(tx, caller),
        site,
        env,
    )


async def find_production_of(tx: Tx, caller: Principal, site: str) -> VisibleProduction | None:
    return await tx.one(
        with_role(VisibleProduction),
        f"{_VISIBLE} and s.id = $7 and e.type = 'production' and s.status <> 'deleted'",
        *viewer(tx, caller),
        site,
    )


async def view(tx: Tx, env: VisibleEnvironment) -> EnvironmentView | None:
    return await tx.one(EnvironmentView, f"select {_VIEW} from environments e where e.id = $1", env.id)  # noqa: S608


async def page(tx: Tx, site: SiteId, request: PageRequest) -> Page[EnvironmentView]:
    return await request.fetch(
        tx,
        EnvironmentView,
        f"select {_VIEW} from environments e where e.site_id = $1 and {_IS_CLONE}"  # noqa: S608
        " and e.id < $2 order by e.id desc limit $3",
        site,
    )


async def lock_site(tx: Tx, site: str) -> ParentSite | None:
    """The owner and the status of the site cannot change before the transaction ends."""
    return await tx.one(
        ParentSite,
        "select id, account_id, team_id, slug, status, git_repo from sites where id = $1 for no key update",
        site,
    )


async def get_site_owner(tx: Tx, site: str) -> SiteOwner:
    found = await tx.one(SiteOwner, "select account_id, team_id, domain, mode from sites where id = $1", site)
    if found is None:
        raise LookupError(f"there is no site {site}")
    return found


async def insert_production(tx: Tx, env: EnvironmentId, site: SiteId, subdomain: str) -> None:
    await tx.run(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'production', $3, 'provisioning', $4)",
        env,
        site,
        subdomain,
        tx.now,
    )


async def insert(
    tx: Tx, env: EnvironmentId, site: SiteId, type_: EnvironmentType, branch: str | None, subdomain: str
) -> bool:
    """Returns False when another environment has the host. Of two concurrent inserts the second waits, and
    then gets False."""
    inserted = await tx.run(
        "insert into environments (id, site_id, type, branch, subdomain, status, created_at)"
        " values ($1, $2, $3, $4, $5, 'provisioning', $6)"
        " on conflict (subdomain) where status <> 'deleted' do nothing",
        *(env, site, type_, branch, subdomain, tx.now),
    )
    return inserted == 1


async def get(tx: Tx, env: str) -> Environment | None:
    return await tx.one(Environment, f"select {COLUMNS} from environments where id = $1", env)  # noqa: S608


async def find_production(tx: Tx, site: str) -> Environment | None:
    return await tx.one(
        Environment,
        f"select {COLUMNS} from environments where site_id = $1 and type = 'production'",  # noqa: S608
        site,
    )


async def find_by_branch(tx: Tx, site: str, type_: EnvironmentType, branch: str | None) -> Environment | None:
    return await tx.one(
        Environment,
        f"select {COLUMNS} from environments where site_id = $1 and type = $2"  # noqa: S608
        " and branch is not distinct from $3 and status <> 'deleted'",
        site,
        type_,
        branch,
    )


async def set_node(tx: Tx, env: EnvironmentId, node: str | None) -> None:
    await tx.run("update environments set node_id = $2 where id = $1", env, node)


async def set_status(
    tx: Tx,
    env: str,
    status: EnvironmentStatus,
    *,
    after: tuple[EnvironmentStatus, ...],
    reason: str | None = None,
) -> bool:
    """Change the status if the current one is in `after`. Returns whether it was.

    This is the only place that publishes the change. Production publishes none: its site does.
    """
    changed = await tx.one(
        lambda *row: row,
        "update environments e set status = $2, status_reason = $4, returns_to = null,"
        " awake_since = case when $2 = 'running' then $5 else e.awake_since end"
        " from (select id, status from environments where id = $1 for update) before, sites s"
        " where e.id = before.id and s.id = e.site_id and before.status = any($3)"
        " returning before.status, e.type, e.branch, e.subdomain, s.id, s.account_id, s.team_id, s.domain",
        *(env, status, list(after), reason, tx.now),
    )
    if changed is None:
        return False
    previous, type_, branch, subdomain, site, account, team, domain = changed
    if previous != status and type_ != "production":
        about = About(account_id=account, team_id=team, site_id=site, env_id=env)
        named = {"domain": domain, "subdomain": subdomain, "type": type_, "branch": branch}
        change = {"status": status, "previous": previous, "reason": reason}
        await publish(tx, ENV_STATUS_CHANGED, about, **named, **change)
    return True


async def get_status_reason(tx: Tx, env: str) -> str | None:
    reason: str | None = await tx.value("select status_reason from environments where id = $1", env)
    return reason


async def set_release(tx: Tx, env: str, release: str | None) -> None:
    await tx.run("update environments set release = $2 where id = $1", env, release)


async def set_dataset(tx: Tx, env: str, dataset: str) -> None:
    """Its data is on its node again, if it was lost."""
    await tx.run("update environments set dataset = $2, data_lost = false where id = $1", env, dataset)


async def set_git_ref(tx: Tx, env: str, ref: str | None) -> None:
    await tx.run("update environments set git_ref = $2 where id = $1", env, ref)


async def list_hosted(tx: Tx, site: str) -> list[str]:
    return await tx.all(
        str,
        "select id from environments where site_id = $1 and node_id is not null and status <> 'deleted'"
        " order by type <> 'production', id",
        site,
    )


async def list_placed(tx: Tx, site: str) -> list[Environment]:
    return await tx.all(
        Environment,
        f"select {COLUMNS} from environments where site_id = $1 and node_id is not null"  # noqa: S608
        " order by type <> 'production', id",
        site,
    )


async def list_clones(tx: Tx, site: str) -> list[Environment]:
    """The environments of a site besides production, without deleted ones."""
    return await tx.all(
        Environment,
        f"select {COLUMNS} from environments e where site_id = $1 and {_IS_CLONE} order by id",  # noqa: S608
        site,
    )


async def list_deleted_with_site(tx: Tx, site: str) -> list[tuple[str, EnvironmentStatus]]:
    """The environments that were deleted with their site, each with its status after a recovery."""
    return await tx.all(
        lambda *row: row,
        "select id, returns_to from environments"
        " where site_id = $1 and status = 'deleted' and returns_to is not null order by id",
        site,
    )


async def set_status_after_recovery(tx: Tx, env: str, status: EnvironmentStatus) -> None:
    await tx.run("update environments set returns_to = $2 where id = $1", env, status)


async def set_lease(tx: Tx, env: str, token_hash: bytes, until: datetime) -> None:
    await tx.run(
        "update environments set lease_token_hash = $2, lease_expires_at = $3 where id = $1",
        env,
        token_hash,
        until,
    )


async def is_data_lost(tx: Tx, env: str) -> bool:
    return bool(await tx.value("select data_lost from environments where id = $1", env))


async def lock(tx: Tx, env: VisibleEnvironment, reason: str) -> None:
    await tx.run(
        "update environments set lock_reason = $2, locked_at = $3 where id = $1", env.id, reason, tx.now
    )


async def unlock(tx: Tx, env: VisibleEnvironment) -> None:
    await tx.run("update environments set lock_reason = null, locked_at = null where id = $1", env.id)


async def find_lock_reason(tx: Tx, env: str) -> str | None:
    found: str | None = await tx.value("select lock_reason from environments where id = $1", env)
    return found
