"""Publishes certificates and challenges through the edge feed."""

from collections.abc import Mapping

from stead.control.certificates.edge_publisher import EdgesNotUpdated
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import FeedUnavailable, NotApplied
from stead.protocol.edge_records import EdgeRecord
from stead.shared.edge_keys import keys_from_text, region_key, seal


class FeedPublisher:
    """An EdgePublisher over the announcer. Private keys are sealed with a key of the region."""

    def __init__(self, announcer: Announcer, master_key: str) -> None:
        self._announcer, self._master_key = announcer, keys_from_text(master_key)[0]

    async def publish(
        self, region: str, records: Mapping[str, EdgeRecord | None], *, version: int | None = None
    ) -> None:
        await announce_records(self._announcer, region, records, version=version)

    def seal_key(self, region: str, host: str, key: bytes) -> str:
        return seal(region_key(self._master_key, region), host, key.decode())


async def announce_records(
    announcer: Announcer,
    region: str,
    records: Mapping[str, EdgeRecord | None],
    *,
    version: int | None = None,
) -> None:
    """Announce records; raises EdgesNotUpdated."""
    try:
        await announcer.announce(region, records, version)
    except (FeedUnavailable, NotApplied):
        raise EdgesNotUpdated from None
