"""Which snapshots of a site are kept, and why. No I/O.

Everything is kept for the window of the plan. Of the scheduled snapshots, the last one of a week and of
a month is kept longer. The times are those of the control plane, so a node cannot make a snapshot look older.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from stead.control.backups.rules import SnapshotKind

LATEST, WEEKLY, MONTHLY = "latest", "weekly", "monthly"
KEPT_AFTER_DELETION = timedelta(days=30)
"""As long as a deleted site can be recovered."""


@dataclass(frozen=True, slots=True)
class Retention:
    """A plan without numbers of its own has these."""

    daily_days: int = 7
    weekly: int = 4
    monthly: int = 6

    @property
    def window(self) -> timedelta:
        return timedelta(days=self.daily_days)


@dataclass(frozen=True, slots=True)
class DatedSnapshot:
    id: str
    kind: SnapshotKind
    taken_at: datetime
    is_verified: bool = False


def decide(snapshots: Iterable[DatedSnapshot], plan: Retention, now: datetime) -> dict[str, str | None]:
    """The snapshots to keep, each with the reason why it is kept beyond the window of the plan, if it is.

    The latest snapshot and the latest verified one are always kept: a site whose backups fail keeps what it
    has.
    """
    newest_first = sorted(snapshots, key=lambda each: (each.taken_at, each.id), reverse=True)
    kept: dict[str, str | None] = {}
    for each in newest_first:
        if each.kind == "site_deleted" and now - each.taken_at < KEPT_AFTER_DELETION:
            kept[each.id] = "site_deleted"
        elif now - each.taken_at < plan.window:
            kept[each.id] = None
    scheduled = [each for each in newest_first if each.kind == "scheduled"]
    for reason, period, number in (
        (WEEKLY, _week_of, plan.weekly),
        (MONTHLY, _month_of, plan.monthly),
    ):
        for each in _last_of_periods(scheduled, period, number):
            kept.setdefault(each.id, reason)
    for latest in (newest_first[:1], [each for each in newest_first if each.is_verified][:1]):
        for each in latest:
            kept.setdefault(each.id, LATEST)
    return kept


def _last_of_periods(
    newest_first: Sequence[DatedSnapshot], period: Callable[[datetime], tuple[int, int]], number: int
) -> list[DatedSnapshot]:
    """The last snapshot of each of the latest periods that have one."""
    found: dict[tuple[int, int], DatedSnapshot] = {}
    for each in newest_first:
        found.setdefault(period(each.taken_at), each)
    return list(found.values())[:number]


def _week_of(moment: datetime) -> tuple[int, int]:
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return year, week


def _month_of(moment: datetime) -> tuple[int, int]:
    local = moment.astimezone(UTC)
    return local.year, local.month
