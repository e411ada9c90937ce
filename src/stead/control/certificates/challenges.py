"""The door to the edges as certificates use it: told of through the announcer, keys sealed for the region."""

from collections.abc import Mapping

from stead.control.certificates.edges import EdgesSilent
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import FeedUnavailable, NotApplied
from stead.protocol.edge import Record
from stead.shared.edge_keys import key_from_text, region_key, seal


class Door:
    def __init__(self, announcer: Announcer, master_key: str) -> None:
        self._announcer, self._master = announcer, key_from_text(master_key)

    async def tell(self, region: str, records: Mapping[str, Record | None]) -> None:
        await told(self._announcer, region, records)

    def seal(self, region: str, host: str, key: bytes) -> str:
        return seal(region_key(self._master, region), host, key.decode())


async def told(announcer: Announcer, region: str, records: Mapping[str, Record | None]) -> None:
    try:
        await announcer.announce(region, records)
    except (FeedUnavailable, NotApplied):
        raise EdgesSilent from None
