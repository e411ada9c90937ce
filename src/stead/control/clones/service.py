"""What callers do with the content of environments, each inside the caller's transaction."""

from stead.control.clones.rules import NothingToPush
from stead.control.deployments import service as deployments
from stead.control.environments import service as environments
from stead.control.environments.rules import PRODUCTION, VisibleEnvironment
from stead.control.environments.schema import NewPush
from stead.control.environments.work import EnvironmentWork
from stead.control.jobs.schema import JobView
from stead.control.platform.database import Tx
from stead.control.platform.jobs import JobKind
from stead.control.platform.principal import Principal


async def push(
    tx: Tx,
    caller: Principal,
    env: VisibleEnvironment,
    wanted: NewPush | None,
    *,
    kind: JobKind[EnvironmentWork],
) -> JobView:
    """Whoever changes production must see it, too: a key that is pinned to the environment does not."""
    await environments.find_of_site(tx, caller, env.site_id, PRODUCTION)
    job = await environments.push(tx, env, wanted, kind=kind)
    if await deployments.current(tx, env.id) is None:
        raise NothingToPush
    return job
