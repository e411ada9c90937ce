"""What certificates need from the edges of a region."""

from collections.abc import Mapping
from typing import Protocol

from stead.protocol.edge_records import EdgeRecord


class EdgesNotUpdated(Exception):
    """It is not certain that every running edge of the region has applied the records."""


def region_of(key: str) -> str:
    """The region that an edge record belongs to."""
    return key.partition(".")[0]


class EdgePublisher(Protocol):
    async def publish(
        self, region: str, records: Mapping[str, EdgeRecord | None], *, version: int | None = None
    ) -> None:
        """Publish records (None deletes one) and return when every running edge has applied them. With a
        version, records that are newer are kept.

        Raises EdgesNotUpdated.
        """

    def seal_key(self, region: str, host: str, key: bytes) -> str:
        """Seal a private key in PEM so that only the edges of the region can open it."""


class ErrorTranslatingPublisher:
    """Raises EdgesNotUpdated for connection errors too.

    Otherwise the certifier would mistake them for an unreachable database.
    """

    def __init__(self, publisher: EdgePublisher) -> None:
        self._publisher = publisher

    async def publish(
        self, region: str, records: Mapping[str, EdgeRecord | None], *, version: int | None = None
    ) -> None:
        try:
            await self._publisher.publish(region, records, version=version)
        except (OSError, TimeoutError):
            raise EdgesNotUpdated from None

    def seal_key(self, region: str, host: str, key: bytes) -> str:
        return self._publisher.seal_key(region, host, key)
