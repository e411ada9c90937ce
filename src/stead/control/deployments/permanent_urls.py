"""A permanent URL for each deployment: a host that shows the release of the deployment, whatever its
environment serves now.

Only deployments of static sites have one: a release of other sites is not complete without processes. The
nodes keep the releases of the newest ones. Older ones have no URL any more.
"""

from stead.control.deployments import store
from stead.control.deployments.rules import PermanentHosts
from stead.control.engines.postgres import Tx

KEPT = 10
"""As many deployments of an environment have a permanent URL."""


async def list_hosts(tx: Tx, env: str) -> PermanentHosts:
    """A deployment is served from the moment when visitors of its environment see it. Those that wait for
    that are left out."""
    found = await store.list_permanent_hosts(tx, env)
    shown = [host for host in found if host.was_shown and not host.has_ended]
    return PermanentHosts(shown[:KEPT], [*shown[KEPT:], *(host for host in found if host.has_ended)])


async def end(tx: Tx, deployment: str) -> None:
    """Visitors do not see the deployment any more, and it was never live."""
    await store.end_permanent_host(tx, deployment)


async def end_replaced(tx: Tx, env: str) -> None:
    """The node loses the releases of the environment, except the live one, which is fetched again."""
    await store.end_replaced_hosts(tx, env)


async def forget_ended(tx: Tx, env: str) -> None:
    """The edges were told which hosts have ended when they were told the live release."""
    await store.forget_permanent_hosts(tx, [host.deployment for host in (await list_hosts(tx, env)).ended])
