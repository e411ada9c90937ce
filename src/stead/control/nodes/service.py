"""Placement of environments, and the status of nodes."""

from datetime import datetime

from stead.control import metrics
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import NotYet, Refused
from stead.control.jobs.rules import NoNode
from stead.control.nodes import store
from stead.control.nodes.rules import (
    DEFAULT_CAPACITY,
    PLACEMENT_TIMEOUT,
    SILENT_REGION_TIMEOUT,
    AffectedSite,
    NodeBefore,
    NodeStatus,
    RegionUnavailable,
    RuntimeUnavailable,
    describe_offers,
)
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.sites.events import SITE_REACHABLE, SITE_STATUS_CHANGED, SITE_UNREACHABLE
from stead.protocol.commands import Heartbeat
from stead.shared.metrics import set_all
from stead.shared.runtimes import Runtime

BATCH_SIZE = 100
"""How many sites one transaction marks as unreachable, or as reachable again."""


async def choose_node(
    tx: Tx,
    region: str,
    runtime: Runtime | None,
    *,
    waiting_since: datetime,
    prefer: str | None = None,
    disk_mb: int = 0,
) -> str:
    """Choose a live node of the region that runs the runtime and has free capacity: the preferred one, or the
    least loaded one. None is any runtime: every node can simulate all of them. `disk_mb` is promised to the
    environment.

    Raises NotYet while a node may still be heard.
    """
    node = await store.least_loaded(tx, region, runtime, prefer, disk_mb)
    if node is not None:
        return node
    await _wait_for_heartbeats(tx, region, waiting_since)
    available = describe_offers(await store.list_offers_with_room(tx))
    error = NoNode(region=region, runtime=runtime or "simulated", available=available)
    raise Refused(error.code, str(error))


async def require_available(
    tx: Tx, region: str, runtime: Runtime | None, *, builder: str | None = None
) -> None:
    """Refuse a region or runtime that no node has, and name those that there are. A site whose code comes
    from git also needs a node with its builder.

    None is any runtime. While no node is known at all, as in a new installation, nothing is refused.
    """
    offers = await store.list_offers(tx)
    if not offers:
        return
    here = [offer for offer in offers if offer.region == region]
    if not here:
        available = ", ".join(sorted({offer.region for offer in offers}))
        raise RegionUnavailable(param="region", region=region, available=available)
    runtimes = {each for offer in here for each in offer.hosted}
    if runtime is not None and runtime not in runtimes:
        available = ", ".join(sorted(runtimes)) or "none"
        raise RuntimeUnavailable(param="profile", region=region, runtime=runtime, available=available)
    if builder is not None and not any(offer.builds(builder) for offer in here):
        available = ", ".join(sorted(runtimes))
        raise RuntimeUnavailable(
            param="profile", region=region, runtime=f"git-managed {runtime}", available=available
        )


async def list_available_runtimes(tx: Tx) -> set[str]:
    """The runtimes of which sites are accepted in some region."""
    return {runtime for offer in await store.list_offers(tx) for runtime in offer.hosted}


async def find_build_node(
    tx: Tx, region: str, builder: str | None, *, prefer: str | None, waiting_since: datetime
) -> str | None:
    """A live node of the region that has the builder, or any node if no builder is needed, or None."""
    node = await store.find_build_node(tx, region, builder, prefer=prefer)
    if node is not None:
        return node
    await _wait_for_heartbeats(tx, region, waiting_since)
    return None


async def _wait_for_heartbeats(tx: Tx, region: str, waiting_since: datetime) -> None:
    """Raises NotYet while a node may still be heard."""
    timeout = SILENT_REGION_TIMEOUT if await store.is_silent(tx, region) else PLACEMENT_TIMEOUT
    if tx.now - waiting_since < timeout:
        raise NotYet


async def enrol(
    tx: Tx,
    node: str,
    *,
    region: str,
    public_key: bytes,
    may_build: bool,
    max_capacity: int = DEFAULT_CAPACITY,
    edge_address: str | None = None,
) -> None:
    """Accept a node, or change what the operator has decided about it. A heartbeat cannot change this.

    Without an edge address, the one in the next heartbeat counts from then on.
    """
    await store.enrol(
        tx,
        node,
        region=region,
        public_key=public_key,
        may_build=may_build,
        max_capacity=max_capacity,
        edge_address=edge_address,
    )


async def find_public_key(tx: Tx, node: str) -> bytes | None:
    """The key that secrets for the node are sealed to."""
    return await store.find_public_key(tx, node)


async def record_heartbeat(tx: Tx, heartbeat: Heartbeat) -> NodeBefore | None:
    """Returns what was known of the node before. None if it is not enrolled, and nothing was recorded."""
    return await store.record_heartbeat(tx, heartbeat)


async def are_all_lost(tx: Tx) -> bool:
    """Whether there are nodes, and none has sent a heartbeat lately. That is also the case after all workers
    were down: then nothing recorded the heartbeats."""
    return await store.are_all_lost(tx)


async def update_reachability(tx: Tx) -> tuple[list[str], list[str]]:
    """Update the status of a batch of sites. Returns those that became unreachable, and those reachable
    again."""
    lost, back = await store.mark_unreachable(tx, BATCH_SIZE), await store.mark_reachable(tx, BATCH_SIZE)
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


async def set_draining(tx: Tx, node: str, *, draining: bool) -> bool:
    """A draining node keeps its environments and gets no new ones. Returns False if there is no such node."""
    return await store.set_draining(tx, node, draining=draining)


async def remove(tx: Tx, node: str) -> None:
    """End the enrolment of a node that hosts nothing."""
    await store.remove(tx, node)


async def list_live(tx: Tx, region: str) -> list[str]:
    """The nodes of a region with a recent heartbeat."""
    return await store.list_live(tx, region)


async def measure(tx: Tx) -> None:
    """A node that has never sent a heartbeat is silent since it was enrolled."""
    silent = await store.list_last_signs(tx)
    ages = {node: max((tx.now - since).total_seconds(), 0.0) for node, since in silent}
    set_all(metrics.node_silent, ages)
