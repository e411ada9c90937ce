"""Divides a window into buckets of equal length."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from stead.control.insights.queries import Window

MAX_BUCKETS = 360
HOUR = 3600
SIZES = (60, 300, 900, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR)
"""In seconds. The smallest one that does not make too many is used."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """The first bucket is complete, so the window begins a little earlier than it was asked for."""

    seconds: int
    window: Window

    @classmethod
    def of(cls, window: Window, hours: float, *, smallest: int = SIZES[0]) -> "Buckets":
        """`smallest` is how fine the data is, in seconds."""
        size = max(bucket_seconds(hours), smallest)
        start = int(window.first.timestamp()) // size * size
        return cls(size, Window(datetime.fromtimestamp(start, UTC), window.last))

    @property
    def column(self) -> str:
        """The beginning of the bucket of a row, in seconds since 1970."""
        return f"intDiv(toUnixTimestamp(ts), {self.seconds:d}) * {self.seconds:d}"

    @property
    def request_sums(self) -> Literal["request_minutes", "request_hours"]:
        """The table with the sums of requests that buckets of this length can be made of."""
        return "request_hours" if self.seconds % HOUR == 0 else "request_minutes"

    @property
    def moments(self) -> range:
        first, last = (int(moment.timestamp()) for moment in (self.window.first, self.window.last))
        return range(first, last + 1, self.seconds)


def bucket_seconds(hours: float) -> int:
    return next((size for size in SIZES if hours * 3600 / size <= MAX_BUCKETS), SIZES[-1])
