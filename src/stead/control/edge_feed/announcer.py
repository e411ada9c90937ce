"""Publishes edge records and waits until every running edge of the region has applied them."""

import asyncio
from collections.abc import Mapping

from stead.control.edge_feed.feed import EdgeFeed, NotApplied
from stead.control.engines.postgres import Database
from stead.control.nodes import service
from stead.protocol.edge_records import EdgeRecord

RECHECK_SECONDS = 5.0


class Announcer:
    """`patience` is the number of seconds that the edges may take."""

    def __init__(self, database: Database, feed: EdgeFeed, *, patience: float) -> None:
        self._database, self._feed, self._patience = database, feed, patience

    async def announce(
        self, region: str, records: Mapping[str, EdgeRecord | None], version: int | None = None
    ) -> None:
        """Publish records (None deletes one) and return when every running edge has applied them, or newer
        ones.

        Raises NotApplied, also if an edge has no room for one of the records. An edge that dies in the
        meantime is no longer waited for once its node is known to be lost.
        """
        revision = await self._feed.put(records, version)
        clock = asyncio.get_running_loop()
        until = clock.time() + self._patience
        while True:
            async with self._database.reading() as tx:
                alive = await service.list_live(tx, region)
            within = min(RECHECK_SECONDS, max(until - clock.time(), 0.0))
            try:
                await self._feed.wait_until_applied(region, alive, revision, within=within)
            except NotApplied:
                if clock.time() >= until:
                    raise
            else:
                if skipping := await self._feed.find_skipping(alive, records):
                    raise NotApplied(revision, skipping)
                return
