"""Time as something a program is given, so that a test can move it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    return datetime.now(UTC)


class MovableClock:
    """The wall clock, ahead by as much as it was told to move."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return wall_clock() + self.ahead

    def move(self, by: timedelta) -> None:
        self.ahead += by
