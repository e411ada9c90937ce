"""The records for which nginx has no room. They are sent again from time to time."""

from collections.abc import Iterable, Sequence

import structlog

from stead.edge.admin import SkippedLine

RETRY_SECONDS = 30.0
RETRY_AT_ONCE = 1_000
MALFORMED = "malformed"

log = structlog.get_logger()


class SkippedRecords:
    def __init__(self) -> None:
        self._memories: dict[str, str] = {}
        """By key: the name of the memory that is full. In the order in which they were skipped."""
        self._retry_at = 0.0

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._memories)

    def clear(self) -> None:
        self._memories.clear()

    def update(self, sent: Sequence[str], skipped: Iterable[SkippedLine]) -> None:
        """Record which of the records that were sent did not fit. `sent` are their keys, in order."""
        if self._memories:
            for key in sent:
                self._memories.pop(key, None)
        for each in skipped:
            if 1 <= each.line <= len(sent):
                self.add(sent[each.line - 1], each.dict)

    def add(self, key: str, memory: str) -> None:
        if memory not in self._memories.values():
            log.warning("edge.record_skipped", key=key, memory=memory)
        self._memories.pop(key, None)
        self._memories[key] = memory

    def next_retry(self, now: float) -> list[str]:
        """The records to be sent again now, beginning with the oldest."""
        if not self._memories or now < self._retry_at:
            return []
        self._retry_at = now + RETRY_SECONDS
        return list(self._memories)[:RETRY_AT_ONCE]
