"""What a vulnerability and a component are. No I/O."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from msgspec import Struct

Rating = Literal["critical", "high", "medium", "low", "none"]
InventoryStatus = Literal["complete", "unknown_versions", "missing"]

FEED = "wordfence"
MAX_ATTRIBUTION = 4000
MOST_UNREADABLE = 0.01
"""The part of a feed that may be unreadable. Those records stay as they were."""
FETCH_EVERY = timedelta(minutes=30)
"""The limit of the feed, for the whole installation."""


class Range(Struct):
    from_version: str
    from_inclusive: bool
    to_version: str
    to_inclusive: bool


class Software(Struct):
    type: str
    slug: str
    affected_versions: dict[str, Range] | list[Any]
    """An empty list instead of an object, if there are none."""
    name: str = ""
    patched: bool = False
    patched_versions: list[str] = []
    remediation: str | None = None


class Cvss(Struct):
    score: float | None = None
    rating: str | None = None


class Record(Struct):
    """A record of the feed. Fields that we do not use are ignored."""

    id: str
    title: str
    software: list[Software]
    references: list[str] = []
    copyrights: dict[str, Any] | list[Any] = {}
    """An empty list instead of an object, if there are none."""
    cvss: Cvss | None = None
    cve: str | None = None


class FeedBroken(Exception):
    """The feed cannot be used; the last good one stays. The message says why."""


def attribute(copyrights: Mapping[str, Any], *, brief: bool = False) -> str:
    """The notices and licences of a record, which must be shown wherever the record is. A brief one refers to
    the licences."""
    fields = ("notice", "license_url") if brief else ("notice", "license", "license_url")
    sources = [each for each in copyrights.values() if isinstance(each, dict)]
    texts = [" ".join(str(each[name]).strip() for name in fields if each.get(name)) for each in sources]
    return " ".join(text for text in texts if text)[:MAX_ATTRIBUTION]


def rating_of(cvss: Cvss | None) -> Rating:
    if cvss is None or cvss.score is None:
        return "none"
    steps: tuple[tuple[float, Rating], ...] = (
        (9.0, "critical"),
        (7.0, "high"),
        (4.0, "medium"),
        (0.1, "low"),
    )
    score = cvss.score
    return next((rating for least, rating in steps if score >= least), "none")
