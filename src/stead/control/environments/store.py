"""Rows of environments."""

from typing import Any

from stead.control.environments.rules import Environment, VisibleEnvironment
from stead.control.platform.database import Tx
from stead.control.platform.principal import Principal
from stead.shared.ids import EnvironmentId, SiteId
from stead.shared.roles import SEES_SITES, Role

_COLUMNS = "id, site_id, type, subdomain, status, node_id, created_at"
_VISIBLE = """
  select e.id, e.site_id, s.account_id, s.team_id, s.domain, s.status, e.type, e.subdomain, e.status,
    s.runtime, m.role
  from environments e join sites s on s.id = e.site_id left join team_members m
    on m.team_id = s.team_id and m.account_id = $1
    and (m.expires_at is null or m.expires_at > $2) and m.role = any($3)
  where (s.account_id = $1 or m.role is not null)
  and s.mode = any($4)
  and ($5::text is null or $6 = case $5 when 'environment' then e.id
    when 'site' then s.id when 'project' then s.project_id when 'team' then s.team_id end)
"""


def _visible(*row: Any) -> VisibleEnvironment:
    values = [*row[:-1], Role(row[-1] or Role.OWNER)]
    return VisibleEnvironment(*values)


def _viewer(tx: Tx, caller: Principal) -> tuple[object, ...]:
    return caller.account_id, tx.now, SEES_SITES, caller.modes, caller.pin_type, caller.pin_id


async def find(tx: Tx, caller: Principal, env: str) -> VisibleEnvironment | None:
    return await tx.one(_visible, f"{_VISIBLE} and e.id = $7", *_viewer(tx, caller), env)


async def find_of_site(tx: Tx, caller: Principal, site: str, env: str) -> VisibleEnvironment | None:
    """`production` is as good as its id."""
    return await tx.one(
        _visible,
        f"{_VISIBLE} and s.id = $7 and case when $8 = 'production' then e.type = $8 else e.id = $8 end",
        *_viewer(tx, caller),
        site,
        env,
    )


async def insert_production(tx: Tx, env: EnvironmentId, site: SiteId, subdomain: str) -> None:
    await tx.run(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'production', $3, 'provisioning', $4)",
        env,
        site,
        subdomain,
        tx.now,
    )


async def production(tx: Tx, site: str) -> Environment | None:
    return await tx.one(
        Environment,
        f"select {_COLUMNS} from environments where site_id = $1 and type = 'production'",  # noqa: S608
        site,
    )


async def set_node(tx: Tx, env: EnvironmentId, node: str | None) -> None:
    await tx.run("update environments set node_id = $2 where id = $1", env, node)


async def set_status(tx: Tx, env: EnvironmentId, status: str) -> None:
    await tx.run("update environments set status = $2 where id = $1", env, status)


async def show(tx: Tx, env: str, release: str | None) -> None:
    await tx.run("update environments set release = $2 where id = $1", env, release)


async def set_git_ref(tx: Tx, env: str, ref: str) -> None:
    await tx.run("update environments set git_ref = $2 where id = $1", env, ref)


async def carried(tx: Tx, site: str) -> list[str]:
    """The environments of a site that are on a node, production first."""
    return await tx.all(
        str,
        "select id from environments where site_id = $1 and node_id is not null and status <> 'deleted'"
        " order by type <> 'production', id",
        site,
    )
