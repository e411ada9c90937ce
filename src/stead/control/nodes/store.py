"""Rows of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.nodes.rules import (
    AVAILABLE_FOR,
    LOST_AFTER,
    AffectedSite,
    NodeBefore,
    NodeOffer,
    NodeStatus,
)
from stead.protocol.commands import Heartbeat
from stead.protocol.edge_records import is_peer_address
from stead.protocol.work.builds import BUILDERS
from stead.protocol.work.kinds import supports_hosting
from stead.shared.runtimes import RUNTIMES, Runtime

_HOSTED = "(select count(*) from environments e where e.node_id = n.id and e.status <> 'deleted')"
"""Deleted environments stay on their node while they can be recovered, and need nothing but space there: an
owner who creates and deletes sites takes no capacity from others."""
_STATUS = f"""
  select n.id, n.region, n.capacity, {_HOSTED},
    (select count(*) from environments e where e.node_id = n.id and e.status = 'deleted'),
    n.version, n.draining, n.short_of_space, n.may_build, n.public_key is not null, n.last_seen_at,
    n.records_skipped, n.max_capacity, n.edge_address from nodes n
"""  # noqa: S608 - constants only
_HAS_ROOM = f"""
  not n.draining and not n.short_of_space and n.last_seen_at > $1 and n.public_key is not null
  and n.capacity > {_HOSTED}
"""
_MAX_INT = 2**31 - 1


async def enrol(
    tx: Tx,
    node: str,
    *,
    region: str,
    public_key: bytes,
    may_build: bool,
    max_capacity: int,
    edge_address: str | None,
) -> None:
    await tx.run(
        "insert into nodes (id, region, public_key, may_build, max_capacity, edge_address, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7)"
        " on conflict (id) do update set region = $2, public_key = $3, may_build = $4, max_capacity = $5,"
        " edge_address = $6, capacity = least(nodes.capacity, $5),"
        " builders = case when $4 then nodes.builders else '{}' end",
        *(node, region, public_key, may_build, max_capacity, edge_address, tx.now),
    )


async def record_heartbeat(tx: Tx, heartbeat: Heartbeat) -> NodeBefore | None:
    """None if the node is not enrolled."""
    return await tx.one(
        NodeBefore,
        "update nodes set capacity = least($2, max_capacity), version = $3, last_seen_at = $5,"
        " short_of_space = $6, records_skipped = $7, runtimes = $8,"
        " edge_address = coalesce(edge_address, $9), room_mb = $10,"
        " builders = case when may_build then $4::text[] else '{}' end where id = $1"
        " returning region, edge_address, created_at,"
        " (select n.records_skipped from nodes n where n.id = $1)",
        heartbeat.node,
        min(max(heartbeat.capacity, 0), _MAX_INT),
        heartbeat.version,
        _keep_known(heartbeat.builders, BUILDERS),
        tx.now,
        heartbeat.short_of_space,
        min(max(heartbeat.records_skipped, 0), _MAX_INT),
        _hosted_runtimes(heartbeat),
        heartbeat.edge_address if is_peer_address(heartbeat.edge_address) else None,
        None if heartbeat.room_mb is None else max(min(heartbeat.room_mb, _MAX_INT), -_MAX_INT),
    )


def _hosted_runtimes(heartbeat: Heartbeat) -> list[str] | None:
    """None if the node does not report its work. A node that does not support all of it, because it is older
    than this control plane, hosts nothing new."""
    if not heartbeat.work:
        return None
    return _keep_known(heartbeat.runtimes, RUNTIMES) if supports_hosting(heartbeat.work) else []


def _keep_known(reported: Sequence[str], known: Sequence[str]) -> list[str]:
    """Error messages list what nodes offer, and a node that was broken into can report any text."""
    return [name for name in known if name in reported]


async def find_public_key(tx: Tx, node: str) -> bytes | None:
    key: bytes | None = await tx.value("select public_key from nodes where id = $1", node)
    return key


async def list_offers(tx: Tx) -> list[NodeOffer]:
    """What the nodes that take new environments can host, each combination once."""
    return await tx.all(
        NodeOffer,
        "select distinct region, runtimes, builders from nodes where not draining and last_seen_at > $1",
        tx.now - AVAILABLE_FOR,
    )


async def list_offers_with_room(tx: Tx) -> list[NodeOffer]:
    """What live nodes with free capacity can host, each combination once."""
    return await tx.all(
        NodeOffer,
        f"select distinct n.region, n.runtimes, n.builders from nodes n where {_HAS_ROOM}",  # noqa: S608
        tx.now - LOST_AFTER,
    )


async def all_nodes(tx: Tx) -> list[NodeStatus]:
    return await tx.all(NodeStatus, f"{_STATUS} order by n.id")


async def list_last_signs(tx: Tx) -> list[tuple[str, datetime]]:
    """Every node with the time of its last heartbeat, or else of its enrolment."""
    return await tx.all(
        lambda node, at: (node, at), "select id, coalesce(last_seen_at, created_at) from nodes"
    )


async def find(tx: Tx, node: str) -> NodeStatus | None:
    return await tx.one(NodeStatus, f"{_STATUS} where n.id = $1", node)


async def set_draining(tx: Tx, node: str, *, draining: bool) -> bool:
    return await tx.run("update nodes set draining = $2 where id = $1", node, draining) == 1


async def remove(tx: Tx, node: str) -> None:
    await tx.run("delete from nodes where id = $1", node)


async def least_loaded(
    tx: Tx, region: str, runtime: Runtime | None, prefer: str | None = None, disk_mb: int = 0
) -> str | None:
    """Of the live nodes of the region that run the runtime and have free capacity, the preferred one, or else
    the least loaded one. None is any runtime. It must be able to promise so much disk space.

    A lock makes concurrent placements in a region wait for each other.
    """
    await tx.value("select pg_advisory_xact_lock(hashtext('placement'), hashtext($1))", region)
    node: str | None = await tx.value(
        f"select n.id from nodes n where {_HAS_ROOM} and n.region = $2"  # noqa: S608
        " and ($3::text is null or n.runtimes is null or $3 = any(n.runtimes))"
        " and ($5 = 0 or n.room_mb is null or n.room_mb >= $5)"
        " order by n.id is distinct from $4,"
        f" {_HOSTED}::float / n.capacity, n.id limit 1",
        tx.now - LOST_AFTER,
        region,
        runtime,
        prefer,
        disk_mb,
    )
    if node is not None and disk_mb:
        # Until the next heartbeat, which counts what the node has then.
        await tx.run("update nodes set room_mb = room_mb - $2 where id = $1", node, disk_mb)
    return node


async def find_build_node(tx: Tx, region: str, builder: str | None, *, prefer: str | None) -> str | None:
    """A live node of the region that has this builder, if possible the preferred one."""
    node: str | None = await tx.value(
        "select id from nodes where region = $1 and last_seen_at > $2 and not short_of_space"
        " and public_key is not null"
        " and ($3::text is null or $3 = any(builders))"
        " order by id is distinct from $4, draining, random() limit 1",
        region,
        tx.now - LOST_AFTER,
        builder,
        prefer,
    )
    return node


async def is_silent(tx: Tx, region: str) -> bool:
    """Whether the region has nodes and all of them are lost."""
    has_live_node: bool | None = await tx.value(
        "select bool_or(last_seen_at > $2) from nodes where region = $1", region, tx.now - LOST_AFTER
    )
    return has_live_node is False


async def are_all_lost(tx: Tx) -> bool:
    return bool(await tx.value("select max(last_seen_at) <= $1 from nodes", tx.now - LOST_AFTER))


async def list_live(tx: Tx, region: str) -> list[str]:
    return await tx.all(
        str,
        "select id from nodes where region = $1 and last_seen_at > $2 order by id",
        region,
        tx.now - LOST_AFTER,
    )


async def mark_unreachable(tx: Tx, limit: int) -> list[AffectedSite]:
    """Mark running sites whose node is lost as failed, and return them."""
    return await tx.all(
        AffectedSite,
        "update sites s set status = 'failed', status_reason = 'The node ' || lost.node || ' is unreachable.'"
        " from (select s.id, n.id as node from nodes n join environments e on e.node_id = n.id"
        " join sites s on s.id = e.site_id where e.type = 'production' and s.status = 'running'"
        " and n.last_seen_at <= $1 limit $2 for update of s skip locked) lost where s.id = lost.id"
        " returning s.id, s.domain, s.account_id, s.team_id, s.status_reason",
        tx.now - LOST_AFTER,
        limit,
    )


async def mark_reachable(tx: Tx, limit: int) -> list[AffectedSite]:
    """Mark sites that failed because of a lost node as running once the node is back, and return them."""
    return await tx.all(
        AffectedSite,
        "update sites s set status = 'running', status_reason = null"
        " from (select s.id from sites s join environments e on e.site_id = s.id"
        " join nodes n on n.id = e.node_id where e.type = 'production' and s.status = 'failed'"
        " and s.status_reason = 'The node ' || n.id || ' is unreachable.'"
        " and n.last_seen_at > $1 limit $2 for update of s skip locked) back where s.id = back.id"
        " returning s.id, s.domain, s.account_id, s.team_id, s.status_reason",
        tx.now - LOST_AFTER,
        limit,
    )


@dataclass(frozen=True)
class EnteredSite:
    site_id: str
    team_id: str | None
    account_id: str | None
    email: str | None
    """Of the account that entered."""


async def find_entered_site(tx: Tx, node: str, environment: str, account: str) -> EnteredSite | None:
    """None if the node does not host the environment. Without an account if it is neither that of the owner
    nor of a member of the team: the trail of a site shows no addresses of strangers."""
    return await tx.one(
        EnteredSite,
        "select s.id, s.team_id, a.id, a.email from environments e join sites s on s.id = e.site_id"
        " left join accounts a on a.id = $3 and (a.id = s.account_id or exists"
        " (select from team_members m where m.team_id = s.team_id and m.account_id = a.id))"
        " where e.id = $2 and e.node_id = $1",
        node,
        environment,
        account,
    )
