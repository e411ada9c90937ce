"""placeholder: replaced by the feed branch"""

from collections.abc import Mapping, Sequence

from stead.protocol.edge import Record


class NotApplied(Exception):
    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = nodes


class Edges:
    async def put(self, records: Mapping[str, Record | None]) -> int:
        return 0

    async def applied(self, region: str, nodes: Sequence[str], revision: int, *, within: float) -> None: ...
