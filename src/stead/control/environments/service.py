"""What other features do with environments."""

from stead.control.environments import store
from stead.control.environments.rules import (
    PRODUCTION,
    Environment,
    EnvironmentNotFound,
    VisibleEnvironment,
)
from stead.control.platform.database import Tx
from stead.control.platform.operations import Call
from stead.control.platform.principal import Principal
from stead.control.platform.visibility import resolver
from stead.shared.ids import EnvironmentId, SiteId, has_shape, new_id


@resolver
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


async def show(tx: Tx, env: str, release: str | None) -> None:
    """What its record of the edge says from its next announcement on; None is the placeholder."""
    await store.show(tx, env, release)


async def came_from(tx: Tx, env: str, ref: str) -> None:
    await store.set_git_ref(tx, env, ref)


async def carried(tx: Tx, site: str) -> list[str]:
    return await store.carried(tx, site)
