"""Placement of environments, and the status of nodes."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import NotYet, Refused
from stead.control.jobs.rules import NoNode
from stead.control.nodes import store
from stead.control.nodes.rules import PLACEMENT_TIMEOUT, SILENT_REGION_TIMEOUT, AffectedSite, NodeStatus
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.sites.events import SITE_REACHABLE, SITE_STATUS_CHANGED, SITE_UNREACHABLE
from stead.protocol.commands import Heartbeat


async def choose_node(tx: Tx, region: str, *, waiting_since: datetime, prefer: str | None = None) -> str:
    """Choose a live node of the region with free capacity: the preferred one, or the least loaded one.

    Raises NotYet while a node may still send its first heartbeat.
    """
    node = await store.least_loaded(tx, region, prefer)
    if node is not None:
        return node
    if tx.now - waiting_since < PLACEMENT_TIMEOUT:
        raise NotYet
    raise Refused(NoNode.code, str(NoNode(region=region)))


async def find_build_node(
    tx: Tx, region: str, builder: str | None, *, prefer: str | None, waiting_since: datetime
) -> str | None:
    """A live node of the region that has the builder, or any node if no builder is needed, or None."""
    node = await store.find_build_node(tx, region, builder, prefer=prefer)
    if node is not None:
        return node
    timeout = SILENT_REGION_TIMEOUT if await store.is_silent(tx, region) else PLACEMENT_TIMEOUT
    if tx.now - waiting_since < timeout:
        raise NotYet
    return None


async def record_heartbeat(tx: Tx, heartbeat: Heartbeat) -> None:
    await store.record_heartbeat(tx, heartbeat)


async def update_reachability(tx: Tx) -> tuple[list[str], list[str]]:
    """Update the status of sites. Returns those that became unreachable, and those reachable again."""
    lost, back = await store.mark_unreachable(tx), await store.mark_reachable(tx)
    for site in lost:
        await _publish_change(tx, site, SITE_UNREACHABLE, "running", "failed", reason=site.reason)
    for site in back:
        await _publish_change(tx, site, SITE_REACHABLE, "failed", "running")
    return [site.id for site in lost], [site.id for site in back]


async def _publish_change(
    tx: Tx, site: AffectedSite, event: EventType, previous: str, status: str, **details: str | None
) -> None:
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id)
    change = {"domain": site.domain, "status": status, "previous": previous, **details}
    await publish(tx, SITE_STATUS_CHANGED, about, **change)
    await publish(tx, event, about, domain=site.domain, **details)


async def browse(tx: Tx) -> list[NodeStatus]:
    return await store.all_nodes(tx)


async def find(tx: Tx, node: str) -> NodeStatus | None:
    return await store.find(tx, node)


async def set_draining(tx: Tx, node: str, *, draining: bool) -> None:
    """A draining node keeps its environments and gets no new ones."""
    await store.set_draining(tx, node, draining=draining)


async def list_live(tx: Tx, region: str) -> list[str]:
    """The nodes of a region with a recent heartbeat."""
    return await store.list_live(tx, region)
