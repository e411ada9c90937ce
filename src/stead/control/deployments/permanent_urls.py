"""A permanent URL for each deployment: a host that shows the release of the deployment, whatever its
environment serves now.

Only deployments of static sites have one: a release of other sites is not complete without processes. The
nodes keep the releases of the newest ones. Older ones have no URL any more.
"""

from dataclasses import dataclass

from stead.control.deployments import store
from stead.control.deployments.rules import PermanentHost
from stead.control.engines.postgres import Tx

KEPT = 10
"""As many deployments of an environment have a permanent URL."""


@dataclass(frozen=True, slots=True)
class PermanentHosts:
    """`served` is newest first. `ended` are no longer served, but the edges may still have them."""

    served: list[PermanentHost]
    ended: list[PermanentHost]

    @property
    def all(self) -> list[PermanentHost]:
        return [*self.served, *self.ended]


async def list_hosts(tx: Tx, env: str) -> PermanentHosts:
    """A deployment is served from the moment when visitors of its environment see it."""
    found = await store.list_permanent_hosts(tx, env)
    shown = [host for host in found if host.is_shown]
    return PermanentHosts(shown[:KEPT], [*shown[KEPT:], *(host for host in found if not host.is_shown)])


async def end(tx: Tx, deployment: str) -> None:
    """The deployment has failed."""
    await store.end_permanent_host(tx, deployment)


async def end_replaced(tx: Tx, env: str) -> None:
    """The node loses the releases of the environment, except the live one, which is fetched again."""
    await store.end_replaced_hosts(tx, env)


async def forget_ended(tx: Tx, env: str) -> None:
    """The edges were told which hosts have ended when they were told the live release."""
    await store.forget_permanent_hosts(tx, [host.deployment for host in (await list_hosts(tx, env)).ended])
