"""The history of the API's shapes: one small class for each dated change.

A handler knows only the latest shapes. For a caller with a pinned older version, each later change converts
the response to the older shape, or the request to the newer shape.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

Shape = dict[str, Any]


class VersionChange:
    """`shape` is the name of the JSON shape that changed, `since` the first version with the new shape."""

    since: ClassVar[date]
    shape: ClassVar[str]
    summary: ClassVar[str]

    def downgrade_response(self, new: Shape) -> Shape:
        return new

    def upgrade_request(self, old: Shape) -> Shape:
        return old


class JobResultsNameProducedResources(VersionChange):
    since = date(2026, 7, 4)
    shape = "Job"
    summary = "The result of a job contains the IDs of the resources it produced."

    produced: ClassVar = frozenset(
        {"artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "key_id"}
    )

    def downgrade_response(self, new: Shape) -> Shape:
        result = new.get("result")
        if not isinstance(result, Mapping):
            return new
        return {**new, "result": {key: value for key, value in result.items() if key not in self.produced}}


class Php81Removed(VersionChange):
    since = date(2026, 7, 4)
    shape = "NewSite"
    summary = "PHP 8.1 was removed. The versions are 8.2 to 8.5, by default 8.3."

    def upgrade_request(self, old: Shape) -> Shape:
        """A request for 8.1 gets the oldest supported version instead of an error."""
        return {**old, "php_version": "8.2"} if old.get("php_version") == "8.1" else old


CHANGES: tuple[VersionChange, ...] = (JobResultsNameProducedResources(), Php81Removed())


class History:
    """The changes of one shape."""

    def __init__(self, shape: str | None, changes: tuple[VersionChange, ...] = CHANGES) -> None:
        matching = [change for change in changes if change.shape == shape]
        self._changes = sorted(matching, key=lambda change: change.since, reverse=True)

    def since(self, pin: date) -> list[VersionChange]:
        """The changes after the pinned version, newest first."""
        return [change for change in self._changes if change.since > pin]

    def downgrade_response(self, data: Any, pin: date) -> Any:
        """Convert `data`, one shape or a list of them, to the pinned version."""
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
