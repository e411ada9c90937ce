"""What other features do with environments."""

from stead.control.environments import store
from stead.control.environments.rules import Environment
from stead.control.platform.database import Tx
from stead.shared.ids import EnvironmentId, SiteId, new_id


async def create_production(tx: Tx, site: SiteId, subdomain: str) -> EnvironmentId:
    env = EnvironmentId(new_id("env"))
    await store.insert_production(tx, env, site, subdomain)
    return env


async def production(tx: Tx, site: str) -> Environment:
    found = await store.production(tx, site)
    if found is None:
        raise LookupError(f"{site} has no production environment")
    return found


async def put_on(tx: Tx, env: EnvironmentId, node: str | None) -> None:
    await store.set_node(tx, env, node)


async def become(tx: Tx, env: EnvironmentId, status: str) -> None:
    await store.set_status(tx, env, status)
