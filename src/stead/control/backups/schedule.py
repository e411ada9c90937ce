"""When sites are backed up: at night, each at a time of its own. No I/O."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

NIGHT_BEGINS, NIGHT = timedelta(hours=22), timedelta(hours=8)
"""Since midnight, in UTC; and how long the night is."""
RETRY_AFTER = timedelta(hours=6)
"""After a failure."""
OVERDUE_AFTER = timedelta(hours=30)
"""People get mail when a site is without a new snapshot for so long after its turn: on the second day."""


def next_due(site: str, after: datetime) -> datetime:
    """The first turn of a site after a moment. It has one every night, always at the same time."""
    midnight = after.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    turn = midnight - timedelta(days=1) + NIGHT_BEGINS + _place_in_night(site)
    while turn <= after:
        turn += timedelta(days=1)
    return turn


def due_after_failure(site: str, now: datetime) -> datetime:
    return min(next_due(site, now), now + RETRY_AFTER)


def _place_in_night(site: str) -> timedelta:
    hashed = int.from_bytes(sha256(site.encode()).digest()[:8])
    return timedelta(seconds=hashed % int(NIGHT.total_seconds()))
