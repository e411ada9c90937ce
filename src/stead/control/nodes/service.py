"""Placement, and what is known of the nodes."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import NotYet, Refused
from stead.control.jobs.rules import NoNode
from stead.control.nodes import store
from stead.control.nodes.rules import PATIENCE, SILENCE, AffectedSite, NodeStatus
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.sites.events import SITE_REACHABLE, SITE_STATUS_CHANGED, SITE_UNREACHABLE
from stead.protocol.commands import Heartbeat


async def place(tx: Tx, region: str, *, wanted_since: datetime, prefer: str | None = None) -> str:
    """A live node of the region with room: the preferred one, or else the emptiest. One may still be on its
    way: wait a little."""
    node = await store.emptiest(tx, region, prefer)
    if node is not None:
        return node
    if tx.now - wanted_since < PATIENCE:
        raise NotYet
    raise Refused(NoNode.code, str(NoNode(region=region)))


async def find_build_node(
    tx: Tx, region: str, builder: str | None, *, prefer: str | None, wanted_since: datetime
) -> str | None:
    """A live node of the region that has the builder, or any where none is named; None if there is none."""
    node = await store.find_build_node(tx, region, builder, prefer=prefer)
    if node is not None:
        return node
    patience = SILENCE if await store.is_silent(tx, region) else PATIENCE
    if tx.now - wanted_since < patience:
        raise NotYet
    return None


async def seen(tx: Tx, beat: Heartbeat) -> None:
    await store.seen(tx, beat)


async def any_region_is_silent(tx: Tx) -> bool:
    """Whether there is a region in which no node counts as up. When all workers have been down, no heartbeat
    was recorded, and that says nothing about the nodes."""
    return await store.any_region_is_silent(tx)


async def report(tx: Tx) -> tuple[list[str], list[str]]:
    """Sites that have just lost their node, and sites whose node is back."""
    lost, back = await store.report_lost(tx), await store.report_back(tx)
    for site in lost:
        await _tell(tx, site, SITE_UNREACHABLE, "running", "failed", reason=site.reason)
    for site in back:
        await _tell(tx, site, SITE_REACHABLE, "failed", "running")
    return [site.id for site in lost], [site.id for site in back]


async def _tell(
    tx: Tx, site: AffectedSite, event: EventType, previous: str, status: str, **why: str | None
) -> None:
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id)
    moved = {"domain": site.domain, "status": status, "previous": previous, **why}
    await publish(tx, SITE_STATUS_CHANGED, about, **moved)
    await publish(tx, event, about, domain=site.domain, **why)


async def browse(tx: Tx) -> list[NodeStatus]:
    return await store.all_nodes(tx)


async def find(tx: Tx, node: str) -> NodeStatus | None:
    return await store.find(tx, node)


async def drain(tx: Tx, node: str, *, draining: bool) -> None:
    """A draining node keeps what it carries and gets nothing new."""
    await store.set_draining(tx, node, draining=draining)


async def alive(tx: Tx, region: str) -> list[str]:
    """The nodes of a region that have been heard lately."""
    return await store.alive(tx, region)
