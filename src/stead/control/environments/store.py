"""Rows of environments."""

from stead.control.environments.rules import Environment
from stead.control.platform.database import Tx
from stead.shared.ids import EnvironmentId, SiteId

_COLUMNS = "id, site_id, type, subdomain, status, node_id, created_at"


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
