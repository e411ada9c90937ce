"""Queries for the environments of a node that is lost for good."""

from dataclasses import dataclass

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import EnvironmentStatus, EnvironmentType
from stead.shared.ids import EnvironmentId

_HOSTED = (
    "select e.id, e.site_id, e.type, e.status, e.status_reason, s.region, s.status,"
    " coalesce(s.team_id, s.account_id) from environments e join sites s on s.id = e.site_id where e.id = $1"
)


@dataclass(frozen=True, slots=True)
class HostedEnvironment:
    id: EnvironmentId
    site_id: str
    type: EnvironmentType
    status: EnvironmentStatus
    status_reason: str | None
    region: str
    site_status: str
    owner: str


async def list_hosted(tx: Tx, node: str, *, after: str, limit: int) -> list[str]:
    """Ids, including those of deleted environments: they can be recovered with their site."""
    return await tx.all(
        str,
        "select id from environments where node_id = $1 and id > $2 order by id limit $3",
        *(node, after, limit),
    )


async def lock_hosted(tx: Tx, env: str, node: str) -> HostedEnvironment | None:
    """The environment and its site as they stay until the transaction ends; None if it is no longer on the
    node. The site is locked first, as jobs do."""
    await tx.run(
        "select from sites where id = (select site_id from environments where id = $1) for no key update", env
    )
    await tx.run("select from environments where id = $1 for update", env)
    # A query of its own: one that waited for the locks would return the site as it was before.
    return await tx.one(HostedEnvironment, _HOSTED + " and e.node_id = $2", env, node)


async def find_moved(tx: Tx, env: str, node: str | None) -> HostedEnvironment | None:
    """The environment, if it was on this node and has another one by now."""
    return await tx.one(HostedEnvironment, _HOSTED + " and e.node_id <> $2", env, node)


async def mark_data_lost(tx: Tx, env: str) -> None:
    await tx.run("update environments set data_lost = true where id = $1", env)
