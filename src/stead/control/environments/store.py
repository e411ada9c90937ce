"""Rows of environments."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.environments.events import ENV_STATUS_CHANGED
from stead.control.environments.rules import (
    Environment,
    EnvironmentStatus,
    EnvironmentType,
    Home,
    VisibleEnvironment,
)
from stead.control.environments.schema import EnvironmentView
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.outbox.events import About, publish
from stead.control.sites.visibility import viewer, visible_rows, with_role
from stead.shared.ids import EnvironmentId, SiteId

_COLUMNS = "id, site_id, type, branch, subdomain, status, node_id, created_at"
_VIEW = ", ".join(f"e.{field}" for field in EnvironmentView.__struct_fields__)
_NO_PRODUCTION = "e.type <> 'production' and e.status <> 'deleted'"
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


async def find(tx: Tx, caller: Principal, env: str) -> VisibleEnvironment | None:
    return await tx.one(with_role(VisibleEnvironment), f"{_VISIBLE} and e.id = $7", *viewer(tx, caller), env)


async def find_of_site(tx: Tx, caller: Principal, site: str, env: str) -> VisibleEnvironment | None:
    """`production` is as good as its id."""
    return await tx.one(
        with_role(VisibleEnvironment),
        f"{_VISIBLE} and s.id = $7 and case when $8 = 'production' then e.type = $8 else e.id = $8 end",
        *viewer(tx, caller),
        site,
        env,
    )


async def view(tx: Tx, env: VisibleEnvironment) -> EnvironmentView | None:
    return await tx.one(EnvironmentView, f"select {_VIEW} from environments e where e.id = $1", env.id)  # noqa: S608


async def page(tx: Tx, site: SiteId, request: PageRequest) -> Page[EnvironmentView]:
    return await request.fetch(
        tx,
        EnvironmentView,
        f"select {_VIEW} from environments e where e.site_id = $1 and {_NO_PRODUCTION}"  # noqa: S608
        " and e.id < $2 order by e.id desc limit $3",
        site,
    )


async def home(tx: Tx, site: str) -> Home | None:
    """From here to the end of the transaction it keeps its owner and its status."""
    return await tx.one(
        Home,
        "select id, account_id, team_id, slug, status, git_repo from sites where id = $1 for no key update",
        site,
    )


async def owner(tx: Tx, site: str) -> SiteOwner:
    found = await tx.one(SiteOwner, "select account_id, team_id, domain from sites where id = $1", site)
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
    """False when the host is another environment's. Of two who want it at once, the second is refused."""
    inserted = await tx.run(
        "insert into environments (id, site_id, type, branch, subdomain, status, created_at)"
        " values ($1, $2, $3, $4, $5, 'provisioning', $6)"
        " on conflict (subdomain) where status <> 'deleted' do nothing",
        *(env, site, type_, branch, subdomain, tx.now),
    )
    return inserted == 1


async def get(tx: Tx, env: str) -> Environment | None:
    return await tx.one(Environment, f"select {_COLUMNS} from environments where id = $1", env)  # noqa: S608


async def production(tx: Tx, site: str) -> Environment | None:
    return await tx.one(
        Environment,
        f"select {_COLUMNS} from environments where site_id = $1 and type = 'production'",  # noqa: S608
        site,
    )


async def of_branch(tx: Tx, site: str, type_: EnvironmentType, branch: str | None) -> Environment | None:
    return await tx.one(
        Environment,
        f"select {_COLUMNS} from environments where site_id = $1 and type = $2"  # noqa: S608
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
    """Move an environment on, if it is where it may be moved on from. Whoever waits is told, here alone; of
    production its site tells."""
    moved = await tx.one(
        lambda *row: row,
        "update environments e set status = $2, status_reason = $4, returns_to = null,"
        " awake_since = case when $2 = 'running' then $5 else e.awake_since end"
        " from (select id, status from environments where id = $1 for update) before, sites s"
        " where e.id = before.id and s.id = e.site_id and before.status = any($3)"
        " returning before.status, e.type, e.branch, e.subdomain, s.id, s.account_id, s.team_id, s.domain",
        *(env, status, list(after), reason, tx.now),
    )
    if moved is None:
        return False
    previous, type_, branch, subdomain, site, account, team, domain = moved
    if previous != status and type_ != "production":
        about = About(account_id=account, team_id=team, site_id=site, env_id=env)
        told = {"domain": domain, "subdomain": subdomain, "type": type_, "branch": branch}
        moved_on = {"status": status, "previous": previous, "reason": reason}
        await publish(tx, ENV_STATUS_CHANGED, about, **told, **moved_on)
    return True


async def status_reason(tx: Tx, env: str) -> str | None:
    reason: str | None = await tx.value("select status_reason from environments where id = $1", env)
    return reason


async def show(tx: Tx, env: str, release: str | None) -> None:
    await tx.run("update environments set release = $2 where id = $1", env, release)


async def set_git_ref(tx: Tx, env: str, ref: str | None) -> None:
    await tx.run("update environments set git_ref = $2 where id = $1", env, ref)


async def carried(tx: Tx, site: str) -> list[str]:
    """The environments of a site that are on a node, production first."""
    return await tx.all(
        str,
        "select id from environments where site_id = $1 and node_id is not null and status <> 'deleted'"
        " order by type <> 'production', id",
        site,
    )


async def placed(tx: Tx, site: str) -> list[Environment]:
    """Those that a node has files of, also after their deletion; production first."""
    return await tx.all(
        Environment,
        f"select {_COLUMNS} from environments where site_id = $1 and node_id is not null"  # noqa: S608
        " order by type <> 'production', id",
        site,
    )


async def clones(tx: Tx, site: str) -> list[Environment]:
    """All but production that are not deleted."""
    return await tx.all(
        Environment,
        f"select {_COLUMNS} from environments e where site_id = $1 and {_NO_PRODUCTION} order by id",  # noqa: S608
        site,
    )


async def taken_along(tx: Tx, site: str) -> list[tuple[str, EnvironmentStatus, str]]:
    """What was deleted with its site, what it was, and its host."""
    return await tx.all(
        lambda *row: row,
        "select id, returns_to, subdomain from environments"
        " where site_id = $1 and status = 'deleted' and returns_to is not null order by id",
        site,
    )


async def note_return(tx: Tx, env: str, status: EnvironmentStatus) -> None:
    await tx.run("update environments set returns_to = $2 where id = $1", env, status)


async def set_lease(tx: Tx, env: str, token_hash: bytes, until: datetime) -> None:
    await tx.run(
        "update environments set lease_token_hash = $2, lease_expires_at = $3 where id = $1",
        env,
        token_hash,
        until,
    )


async def set_branch_gone(tx: Tx, site: str, branch: str) -> list[Environment]:
    """Those of whom that was not known."""
    return await tx.all(
        Environment,
        "update environments set branch_gone_at = $3 where site_id = $1 and branch = $2"  # noqa: S608
        f" and status <> 'deleted' and branch_gone_at is null returning {_COLUMNS}",
        site,
        branch,
        tx.now,
    )


async def set_branch_seen(tx: Tx, site: str, branch: str) -> list[Environment]:
    return await tx.all(
        Environment,
        "update environments set branch_gone_at = null where site_id = $1 and branch = $2"  # noqa: S608
        f" and status <> 'deleted' and branch_gone_at is not null returning {_COLUMNS}",
        site,
        branch,
    )


_AT_REST = """
  and s.status not in ('deleting', 'deleted', 'provisioning') and not exists
    (select from jobs j where j.site_id = s.id and j.status in ('queued', 'running')
     and (j.env_id is null or j.env_id = e.id))
"""
_OF_OWNER = "e.id, e.site_id, coalesce(s.team_id, s.account_id), e.status, e.status_reason"
Due = tuple[str, str, str, EnvironmentStatus, str | None]
"""An environment with which something is to be done: its id, site, owner, status and reason."""


async def idle(tx: Tx, since: datetime, most: int) -> list[Due]:
    """Branch environments that nobody has visited since they were last put into service, nor since then."""
    return await tx.all(
        lambda *row: row,
        f"select {_OF_OWNER} from environments e join sites s on s.id = e.site_id"  # noqa: S608
        " where e.type = 'branch' and e.status = 'running'"
        " and greatest(e.last_active, e.awake_since, e.created_at) < $1"
        f" {_AT_REST} order by e.id limit $2 for update of e skip locked",
        since,
        most,
    )


async def abandoned(tx: Tx, since: datetime, most: int) -> list[Due]:
    """Environments whose branch has been gone since then."""
    return await tx.all(
        lambda *row: row,
        f"select {_OF_OWNER} from environments e join sites s on s.id = e.site_id"  # noqa: S608
        " where e.branch_gone_at < $1 and e.status in ('running', 'suspended', 'failed')"
        f" {_AT_REST} order by e.id limit $2 for update of e skip locked",
        since,
        most,
    )


_UNREACHABLE = "'The node ' || n.id || ' is unreachable.'"


async def lost(tx: Tx, since: datetime) -> list[tuple[str, str]]:
    """What runs besides production on nodes that have not been heard since then, and what is to be said."""
    return await tx.all(
        lambda *row: row,
        f"select e.id, {_UNREACHABLE} from environments e join nodes n on n.id = e.node_id"  # noqa: S608
        " where e.type <> 'production' and e.status = 'running' and n.last_seen_at <= $1"
        " order by e.id for update of e skip locked",
        since,
    )


async def back(tx: Tx, since: datetime) -> list[str]:
    """What failed for nothing but that, and whose node has been heard since then."""
    return await tx.all(
        str,
        "select e.id from environments e join nodes n on n.id = e.node_id"  # noqa: S608
        f" where e.type <> 'production' and e.status = 'failed' and e.status_reason = {_UNREACHABLE}"
        " and n.last_seen_at > $1 order by e.id for update of e skip locked",
        since,
    )


async def visited(tx: Tx, node: str, environments: list[str], moments: list[datetime]) -> int:
    """A node speaks only of what it carries, and of nothing that is yet to come."""
    return await tx.run(
        "update environments e set last_active = least(v.moment, $4)"
        " from unnest($2::text[], $3::timestamptz[]) as v (id, moment)"
        " where e.id = v.id and e.node_id = $1"
        " and (e.last_active is null or e.last_active < least(v.moment, $4))",
        node,
        environments,
        moments,
        tx.now,
    )
