"""What callers do with the content of environments, each inside the caller's transaction."""

from stead.control.deployments import service as deployments
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.push_rules import NothingToPush
from stead.control.environments.rules import PRODUCTION, VisibleEnvironment
from stead.control.environments.schema import NewPush
from stead.control.http.principal import Principal
from stead.control.jobs.schema import JobView


async def push(
    tx: Tx,
    caller: Principal,
    env: VisibleEnvironment,
    wanted: NewPush | None,
) -> JobView:
    """Whoever changes production must see it, too: a key that is pinned to the environment does not."""
    await environments.find_of_site(tx, caller, env.site_id, PRODUCTION)
    job = await environments.push(tx, env, wanted)
    if await deployments.current(tx, env.id) is None:
        raise NothingToPush
    return job
