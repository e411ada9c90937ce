"""The page views of which a browser may still send what it has measured.

Their number is bounded, and a site with many visitors takes no room from others. Most sites never ask
browsers to measure anything, and most programs that are no browsers cannot, so little room is for those.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

MAX_MEASURED = 100_000
"""Of environments whose browsers have sent something lately."""
MAX_OTHERS, MAX_OTHERS_EACH = 40_000, 400
MEASURED_SECONDS = 86_400.0


class PageView(NamedTuple):
    release: str
    path: str
    device: str


class PageViews:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._measured = _FairTable(MAX_MEASURED, MAX_MEASURED)
        self._others = _FairTable(MAX_OTHERS, MAX_OTHERS_EACH)
        self._measured_at: dict[str, float] = {}
        """When something was last sent for a page view of each environment."""

    def add(self, environment: str, trace: str, view: PageView) -> None:
        is_measured = view.device != "bot" and self._is_measured(environment)
        (self._measured if is_measured else self._others).add(environment, trace, view)

    def take(self, environment: str, trace: str) -> PageView | None:
        """The page view, which is forgotten; None if it is not known."""
        view = self._measured.take(environment, trace) or self._others.take(environment, trace)
        if view is not None:
            self._measured_at[environment] = self._clock()
        return view

    def _is_measured(self, environment: str) -> bool:
        measured_at = self._measured_at.get(environment)
        if measured_at is not None and self._clock() - measured_at > MEASURED_SECONDS:
            del self._measured_at[environment]
            return False
        return measured_at is not None


class _FairTable:
    """When there are too many, the oldest one of the environment that has the most is forgotten."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._views: dict[str, OrderedDict[str, PageView]] = {}
        self._count = 0

    def add(self, environment: str, trace: str, view: PageView) -> None:
        views = self._views.setdefault(environment, OrderedDict())
        self._count += trace not in views
        views[trace] = view
        if len(views) > self._most_each:
            self._forget_oldest(environment)
        elif self._count > self._most:
            # Looking for the largest one takes long, and is not needed if this one has more than its share.
            has_enough = len(views) > self._most / len(self._views)
            self._forget_oldest(environment if has_enough else max(self._views, key=self._count_of))

    def take(self, environment: str, trace: str) -> PageView | None:
        views = self._views.get(environment)
        view = views.pop(trace, None) if views else None
        if view is not None:
            self._count -= 1
            self._remove_if_empty(environment)
        return view

    def _count_of(self, environment: str) -> int:
        return len(self._views[environment])

    def _forget_oldest(self, environment: str) -> None:
        self._views[environment].popitem(last=False)
        self._count -= 1
        self._remove_if_empty(environment)

    def _remove_if_empty(self, environment: str) -> None:
        if not self._views[environment]:
            del self._views[environment]
