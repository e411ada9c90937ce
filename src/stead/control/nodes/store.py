"""Rows of nodes."""

from stead.control.engines.postgres import Tx
from stead.control.nodes.rules import LOST_AFTER, AffectedSite, NodeStatus
from stead.protocol.commands import Heartbeat

_STATUS = """
  select n.id, n.region, n.capacity, (select count(*) from environments e where e.node_id = n.id),
    n.version, n.draining, n.last_seen_at from nodes n
"""


async def seen(tx: Tx, beat: Heartbeat) -> None:
    await tx.run(
        "insert into nodes (id, region, capacity, version, builders, last_seen_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $6) on conflict (id)"
        " do update set region = $2, capacity = $3, version = $4, builders = $5, last_seen_at = $6",
        beat.node,
        beat.region,
        beat.capacity,
        beat.version,
        list(beat.builders),
        tx.now,
    )


async def all_nodes(tx: Tx) -> list[NodeStatus]:
    return await tx.all(NodeStatus, f"{_STATUS} order by n.id")


async def find(tx: Tx, node: str) -> NodeStatus | None:
    return await tx.one(NodeStatus, f"{_STATUS} where n.id = $1", node)


async def set_draining(tx: Tx, node: str, *, draining: bool) -> None:
    await tx.run("update nodes set draining = $2 where id = $1", node, draining)


async def emptiest(tx: Tx, region: str, prefer: str | None = None) -> str | None:
    """The live node of the region with the most room, unless the preferred one has any. Two who place at once
    take turns."""
    await tx.value("select pg_advisory_xact_lock(hashtext('placement'), hashtext($1))", region)
    node: str | None = await tx.value(
        "select n.id from nodes n where n.region = $1 and not n.draining and n.last_seen_at > $2"
        " and n.capacity > (select count(*) from environments e where e.node_id = n.id)"
        " order by n.id is distinct from $3,"
        " (select count(*) from environments e where e.node_id = n.id)::float / n.capacity, n.id limit 1",
        region,
        tx.now - LOST_AFTER,
        prefer,
    )
    return node


async def find_build_node(tx: Tx, region: str, builder: str | None, *, prefer: str | None) -> str | None:
    """A live node of the region that has this builder, or any; one of them rather than the others."""
    node: str | None = await tx.value(
        "select id from nodes where region = $1 and last_seen_at > $2"
        " and ($3::text is null or $3 = any(builders))"
        " order by id is distinct from $4, draining, random() limit 1",
        region,
        tx.now - LOST_AFTER,
        builder,
        prefer,
    )
    return node


async def is_silent(tx: Tx, region: str) -> bool:
    """Whether it has nodes and none of them is heard."""
    heard: bool | None = await tx.value(
        "select bool_or(last_seen_at > $2) from nodes where region = $1", region, tx.now - LOST_AFTER
    )
    return heard is False


async def any_region_is_silent(tx: Tx) -> bool:
    silent = "select exists (select from nodes group by region having max(last_seen_at) <= $1)"
    return bool(await tx.value(silent, tx.now - LOST_AFTER))


async def alive(tx: Tx, region: str) -> list[str]:
    return await tx.all(
        str,
        "select id from nodes where region = $1 and last_seen_at > $2 order by id",
        region,
        tx.now - LOST_AFTER,
    )


async def report_lost(tx: Tx) -> list[AffectedSite]:
    """Sites whose node is gone say so; say which they were."""
    return await tx.all(
        AffectedSite,
        "update sites s set status = 'failed', status_reason = 'The node ' || n.id || ' is unreachable.'"
        " from environments e join nodes n on n.id = e.node_id"
        " where e.site_id = s.id and e.type = 'production' and s.status = 'running'"
        " and n.last_seen_at <= $1 returning s.id, s.domain, s.account_id, s.team_id, s.status_reason",
        tx.now - LOST_AFTER,
    )


async def report_back(tx: Tx) -> list[AffectedSite]:
    """And are running again once it is back."""
    return await tx.all(
        AffectedSite,
        "update sites s set status = 'running', status_reason = null"
        " from environments e join nodes n on n.id = e.node_id"
        " where e.site_id = s.id and e.type = 'production' and s.status = 'failed'"
        " and s.status_reason = 'The node ' || n.id || ' is unreachable.'"
        " and n.last_seen_at > $1 returning s.id, s.domain, s.account_id, s.team_id, s.status_reason",
        tx.now - LOST_AFTER,
    )
