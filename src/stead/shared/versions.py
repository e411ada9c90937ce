"""The dated versions of the API. A request without a pin gets the latest."""

from datetime import UTC, date, datetime, timedelta

VERSIONS = tuple(
    date.fromisoformat(day)
    for day in ("2026-06-23", "2026-06-26", "2026-06-28", "2026-07-02", "2026-07-04", "2026-07-05")
)
LATEST = VERSIONS[-1]
BY_NAME = {version.isoformat(): version for version in VERSIONS}
DEPRECATION_WINDOW = timedelta(days=365)


def deprecated_at(changed: date) -> datetime:
    """The date from which the response format that this version changed is deprecated."""
    return datetime(changed.year, changed.month, changed.day, tzinfo=UTC)


def sunset_at(changed: date) -> datetime:
    return deprecated_at(changed) + DEPRECATION_WINDOW
