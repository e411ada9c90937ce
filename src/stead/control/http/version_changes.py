"""The history of the API's shapes: one small class per dated change, applied newest to oldest.

A handler knows only the latest shapes. For a caller who pinned an older version, each change made since
rewrites the answer back, or the request forward.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

Shape = dict[str, Any]


class VersionChange:
    """`shape` names the JSON shape that changed; `since` is the first version that has the new one."""

    since: ClassVar[date]
    shape: ClassVar[str]
    summary: ClassVar[str]

    def downgrade_response(self, new: Shape) -> Shape:
        return new

    def upgrade_request(self, old: Shape) -> Shape:
        return old


class JobResultsNameWhatTheyMade(VersionChange):
    since = date(2026, 7, 4)
    shape = "Job"
    summary = "The result of a job carries the ids of what it produced."

    produced: ClassVar = frozenset(
        {"artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "key_id"}
    )

    def downgrade_response(self, new: Shape) -> Shape:
        result = new.get("result")
        if not isinstance(result, Mapping):
            return new
        return {**new, "result": {key: value for key, value in result.items() if key not in self.produced}}


class Php81IsGone(VersionChange):
    since = date(2026, 7, 4)
    shape = "NewSite"
    summary = "PHP is 8.2 to 8.5, 8.3 unless chosen; 8.1 was dropped."

    def upgrade_request(self, old: Shape) -> Shape:
        """Who still asks for 8.1 gets the oldest version there is instead of an error."""
        return {**old, "php_version": "8.2"} if old.get("php_version") == "8.1" else old


CHANGES: tuple[VersionChange, ...] = (JobResultsNameWhatTheyMade(), Php81IsGone())


class History:
    """The changes of one shape."""

    def __init__(self, shape: str | None, changes: tuple[VersionChange, ...] = CHANGES) -> None:
        mine = [change for change in changes if change.shape == shape]
        self._changes = sorted(mine, key=lambda change: change.since, reverse=True)

    def since(self, pin: date) -> list[VersionChange]:
        """The changes that a caller pinned to this version has not seen, newest first."""
        return [change for change in self._changes if change.since > pin]

    def downgrade_response(self, data: Any, pin: date) -> Any:
        """`data` is one shape or a list of them."""
        if isinstance(data, list):
            return [self.downgrade_response(item, pin) for item in data]
        for change in self.since(pin):
            data = change.downgrade_response(data)
        return data

    def upgrade_request(self, data: Any, pin: date) -> Any:
        if not isinstance(data, dict):
            return data
        for change in reversed(self.since(pin)):
            data = change.upgrade_request(data)
        return data
