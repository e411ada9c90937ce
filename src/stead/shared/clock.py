"""Clocks are passed to programs, so that tests can move the time. Times have milliseconds, as in the
database."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


class MovableClock:
    """The wall clock plus the time by which a test has moved it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return wall_clock() + self.ahead

    def move(self, by: timedelta) -> None:
        self.ahead += by


def from_unix(seconds: float) -> datetime:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
