"""Limits how many purges of an environment the bucket holds.

Every purged URL and tag is a record that all edges keep for a month. Above a limit, and whenever all pages
are purged anyway, one record for all pages replaces them.
"""

from collections.abc import Awaitable, Callable, Mapping

from stead.protocol.edge_records import (
    MAX_PURGES,
    EdgeRecord,
    PurgeRecord,
    environment_of,
    purge_key,
    purge_keys_of,
)


class PurgeLimiter:
    """`list_keys` lists the keys of the bucket that begin with a prefix."""

    def __init__(self, list_keys: Callable[[str], Awaitable[list[str]]]) -> None:
        self._list_keys = list_keys

    async def limit(self, records: Mapping[str, EdgeRecord | None]) -> dict[str, EdgeRecord | None]:
        """The records to publish: with fewer purges, and with deletions of those that have no effect any
        more."""
        limited: dict[str, EdgeRecord | None] = {}
        for key, record in records.items():
            region = key.partition(".")[0]
            if isinstance(record, PurgeRecord):
                limited |= await self._limit_purge(region, key, record)
                continue
            limited[key] = record
            if record is None and (environment := environment_of(key)):
                known = await self._list_keys(purge_keys_of(region, environment))
                limited |= dict.fromkeys(known)
        return limited

    async def _limit_purge(self, region: str, key: str, purge: PurgeRecord) -> dict[str, EdgeRecord | None]:
        everything = PurgeRecord(purge.environment)
        all_key = purge_key(region, everything)
        known = set(await self._list_keys(purge_keys_of(region, purge.environment))) - {all_key}
        if key != all_key and (key in known or len(known) < MAX_PURGES):
            return {key: purge}
        return {all_key: everything, **dict.fromkeys(sorted(known))}
