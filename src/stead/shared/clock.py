"""Time as something a program is given, so that a test can move it. To the millisecond, as it is stored."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


class MovableClock:
    """The wall clock, ahead by as much as it was told to move."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return wall_clock() + self.ahead

    def move(self, by: timedelta) -> None:
        self.ahead += by
