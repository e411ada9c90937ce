"""Telling the edges of a region, until all of them that are up go by it."""

import asyncio
from collections.abc import Mapping

from stead.control.edge_feed.feed import Edges, NotApplied
from stead.control.engines.postgres import Database
from stead.control.nodes import service
from stead.protocol.edge import Record

LOOK_SECONDS = 5.0


class Announcer:
    """`patience` is how many seconds an edge may take."""

    def __init__(self, database: Database, edges: Edges, *, patience: float) -> None:
        self._database, self._edges, self._patience = database, edges, patience

    async def tell(self, region: str, records: Mapping[str, Record | None]) -> None:
        """Returns when every edge of the region that is up goes by the records, None for what is to be
        forgotten; raises NotApplied. One that dies meanwhile is not waited for once that is known."""
        revision = await self._edges.put(records)
        clock = asyncio.get_running_loop()
        until = clock.time() + self._patience
        while True:
            async with self._database.reading() as tx:
                alive = await service.alive(tx, region)
            within = min(LOOK_SECONDS, max(until - clock.time(), 0.0))
            try:
                return await self._edges.applied(region, alive, revision, within=within)
            except NotApplied:
                if clock.time() >= until:
                    raise
