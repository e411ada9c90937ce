"""What certificates need of the edges of a region."""

from collections.abc import Mapping
from typing import Protocol

from stead.protocol.edge import Record


class EdgesSilent(Exception):
    """A live edge of the region did not say that it applied what it was told."""


def region_of(key: str) -> str:
    """Whose edges a record is for."""
    return key.partition(".")[0]


class EdgeDoor(Protocol):
    async def tell(self, region: str, records: Mapping[str, Record | None]) -> None:
        """Put records, None for what is to be forgotten. Returns when every live edge of the region has
        applied them; raises EdgesSilent when that cannot be known."""

    def seal(self, region: str, host: str, key: bytes) -> str:
        """A private key in PEM, readable only for the edges of the region."""
