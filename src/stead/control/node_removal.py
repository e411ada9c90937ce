"""`steadctl nodes remove`: gives what a lost node hosted to other nodes, and ends its enrolment."""

from dataclasses import dataclass

from stead.control.edge_feed import announcements
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.nats_streams import delete_consumers
from stead.control.engines.postgres import Database, Deadlock
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Refused
from stead.control.nodes import service as nodes
from stead.control.provisioning import connected_nats
from stead.control.settings import from_environment
from stead.control.sites import relocation
from stead.protocol.edge_records import node_key
from stead.shared.clock import wall_clock

ENVIRONMENTS_AT_ONCE = 200
JOBS_AT_ONCE = 200
MOST_ATTEMPTS = 5
"""To move one environment."""


class NodeNotLost(Exception):
    """A node that sends heartbeats cannot be removed: it would go on serving what it hosts."""


@dataclass
class Removal:
    """What became of the environments of a removed node."""

    restoring: int = 0
    """Jobs restore them on other nodes."""
    moved: int = 0
    """They need no job: they are suspended, deleted or not deployed yet."""
    left: int = 0
    """No node has room for them. The node stays enrolled."""


async def remove_node(node: str) -> Removal:
    """Move everything that a lost node hosts to other nodes, and end its enrolment.

    Can be repeated: what found no room is moved then. Raises LookupError and NodeNotLost.
    """
    settings = from_environment()
    database = Database(settings.database_url, clock=wall_clock)
    try:
        async with connected_nats(settings) as nats_:
            feed = EdgeFeed(nats_)
            region = await _require_lost(database, node)
            removal = await move_all(database, feed, node)
            await cancel_waiting(database, node)
            if not removal.left:
                await delete_consumers(nats_, node)
                await feed.put({node_key(region, node): None})
                async with database.transaction() as tx:
                    await nodes.remove(tx, node)
    finally:
        await database.close()
    return removal


async def _require_lost(database: Database, node: str) -> str:
    """Returns the region of the node."""
    async with database.transaction() as tx:
        found = await nodes.find(tx, node)
        if found is None:
            raise LookupError(f"there is no node {node}")
        if not found.is_lost(tx.now):
            raise NodeNotLost(f"{node} sends heartbeats: stop its agent and its edge first")
        await nodes.set_draining(tx, node, draining=True)
    return found.region


async def move_all(database: Database, feed: EdgeFeed, node: str) -> Removal:
    """Move what the node hosts, each environment as it is when its turn comes."""
    removal, after = Removal(), ""
    while True:
        async with database.reading() as tx:
            page = await relocation.list_hosted(tx, node, after=after, limit=ENVIRONMENTS_AT_ONCE)
        for env in page:
            await _move_despite_jobs(database, feed, env, node, removal)
        if len(page) < ENVIRONMENTS_AT_ONCE:
            return removal
        after = page[-1]


async def _move_despite_jobs(
    database: Database, feed: EdgeFeed, env: str, node: str, removal: Removal
) -> None:
    """A job that ends at the same moment locks its own row first, and the move locks it last. PostgreSQL then
    ends one of the two."""
    for attempt in range(MOST_ATTEMPTS):
        try:
            await _move(database, feed, env, node, removal)
        except Deadlock:
            if attempt == MOST_ATTEMPTS - 1:
                raise
        else:
            return


async def _move(database: Database, feed: EdgeFeed, env: str, node: str, removal: Removal) -> None:
    """In a transaction of its own, so that placement never waits for long."""
    announcement = None
    try:
        async with database.transaction() as tx:
            hosted = await relocation.lock_hosted(tx, env, node)
            if hosted is None:
                return
            is_restored = await relocation.move(tx, hosted, node)
            if not is_restored and "deleted" not in (hosted.status, hosted.site_status):
                announcement = await announcements.serve_environment(tx, hosted.id)
    except Refused:
        removal.left += 1
        return
    if announcement is not None:
        await feed.put(announcement.records, announcement.version)
    removal.restoring += is_restored
    removal.moved += not is_restored


async def cancel_waiting(database: Database, node: str) -> None:
    """Cancel the jobs that still wait for the node. Otherwise they would wait until their time limit."""
    page = [""]
    while page:
        async with database.transaction() as tx:
            page = await jobs.cancel_page_waiting_for_node(tx, node, after=page[-1], limit=JOBS_AT_ONCE)
