"""Limits how much each environment may record in a day, so that none fills disks that all share."""

import time
from collections.abc import Callable
from dataclasses import dataclass

DAY_SECONDS = 86_400
CLOSED_SECONDS = 3_600
"""Once it is used up, nothing is kept until there is room for what may be recorded in this time."""


@dataclass
class _Room:
    left: float
    since: float
    is_used_up: bool = False


class DailyVolume:
    """`per_day` bytes for each environment. What is not used is kept for one more day. Those that were used
    first are forgotten when there are too many."""

    def __init__(self, per_day: int, clock: Callable[[], float] = time.monotonic, most: int = 10_000) -> None:
        self._per_day, self._clock, self._most = per_day, clock, most
        self._rooms: dict[str, _Room] = {}

    def take(self, environment: str, size: int, on_used_up: Callable[[str], None]) -> bool:
        """Whether so many bytes may be recorded. `on_used_up` is called with the environment for the first
        ones that may not."""
        now = self._clock()
        room = self._rooms.get(environment)
        if room is None:
            while len(self._rooms) >= self._most:
                self._rooms.pop(next(iter(self._rooms)))
            room = self._rooms[environment] = _Room(self._per_day, now)
        added = (now - room.since) / DAY_SECONDS * self._per_day
        room.left, room.since = min(self._per_day, room.left + added), now
        needed = self._per_day * CLOSED_SECONDS / DAY_SECONDS if room.is_used_up else 0
        if room.left >= max(size, needed):
            room.left -= size
            room.is_used_up = False
            return True
        if not room.is_used_up:
            room.left, room.is_used_up = 0, True
            on_used_up(environment)
        return False
