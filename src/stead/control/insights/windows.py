"""Which time a caller asks about: the last hours, the last days, or from one moment to another."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

from stead.control.insights.queries import Window
from stead.control.insights.schema.vitals import MAX_DAYS, WindowFilter
from stead.shared.errors import FieldInvalid


class LookingBack(Protocol):
    @property
    def hours(self) -> int: ...


Windowed = LookingBack | WindowFilter


def read_window(now: datetime, wanted: Windowed) -> Window:
    if not isinstance(wanted, WindowFilter):
        return Window.of_hours(now, wanted.hours)
    last = now if wanted.to is None else min(wanted.to.astimezone(UTC), now)
    if last < now - timedelta(days=MAX_DAYS):
        raise FieldInvalid(param="to", reason=f"Nothing is kept for longer than {MAX_DAYS} days.")
    first = last - timedelta(days=wanted.days) if wanted.from_ is None else wanted.from_.astimezone(UTC)
    if first >= last:
        param = "to" if wanted.from_ is None else "from"
        raise FieldInvalid(param=param, reason="The window must begin before it ends, and before now.")
    if last - first > timedelta(days=MAX_DAYS):
        raise FieldInvalid(param="from", reason=f"The window must not be longer than {MAX_DAYS} days.")
    return Window(first, last)
