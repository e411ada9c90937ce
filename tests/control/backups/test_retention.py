"""Which snapshots are kept, and when sites have their turn; 1,000 sites over 60 days of simulated time."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from stead.control.backups.retention import DatedSnapshot, Retention, decide
from stead.control.backups.rules import SnapshotKind
from stead.control.backups.schedule import NIGHT, NIGHT_BEGINS, RETRY_AFTER, due_after_failure, next_due
from stead.shared.ids import new_id
from tests.conftest import FIGURE

PLANS = {"free": Retention(7), "pro": Retention(14), "business": Retention(30)}
START = datetime(2026, 9, 17, 12, tzinfo=UTC)
DAYS, SITES = 60, 1_000


def _nightly(site: str, days: int) -> list[DatedSnapshot]:
    """A snapshot in each night, and when."""
    taken, now = [], START
    while (now := next_due(site, now)) < START + timedelta(days=days):
        taken.append(DatedSnapshot(f"{now:%Y-%m-%d}", "scheduled", now))
    return taken


def test_1000_sites_over_60_days_miss_nothing_keep_exactly_what_their_plan_says_and_spread_evenly(
    record_property: Callable[[str, object], None],
) -> None:
    sites = [new_id("site") for _ in range(SITES)]
    names = list(PLANS)
    load: Counter[int] = Counter()
    per_night: Counter[str] = Counter()
    for number, site in enumerate(sites):
        plan = PLANS[names[number % len(names)]]
        kept: dict[str, DatedSnapshot] = {}
        moments = _nightly(site, DAYS)
        for snapshot in moments:
            # As it is done: what is kept is decided again after every snapshot.
            kept[snapshot.id] = snapshot
            chosen = decide(kept.values(), plan, snapshot.taken_at)
            kept = {id_: kept[id_] for id_ in chosen}
            since_night = (snapshot.taken_at - NIGHT_BEGINS).hour * 60 + snapshot.taken_at.minute
            load[since_night // 10] += 1
            per_night[(snapshot.taken_at - NIGHT_BEGINS).strftime("%Y-%m-%d")] += 1
        assert len(moments) == DAYS, "a night was missed"
        assert all(b.taken_at - a.taken_at == timedelta(days=1) for a, b in pairwise(moments))
        assert kept.keys() == _expected(moments, plan), names[number % len(names)]
    slots = [load[slot] / DAYS for slot in range(int(NIGHT.total_seconds()) // 600)]
    mean = SITES / len(slots)
    record_property(
        FIGURE,
        f"{SITES} sites, {DAYS} nights of {NIGHT}: {sum(load.values())} snapshots, none missed; in 10 minutes"
        f" {mean:.1f} on average, at least {min(slots):.0f}, at most {max(slots):.0f}",
    )
    assert sum(load.values()) == SITES * DAYS
    assert max(slots) < 3 * mean
    assert set(per_night.values()) == {SITES}


def _expected(moments: list[DatedSnapshot], plan: Retention) -> set[str]:
    """Written independently of the code: the last of each week and month, and the days of the window."""
    last = moments[-1].taken_at
    days = {each.id for each in moments if last - each.taken_at < timedelta(days=plan.daily_days)}
    weeks = {each.taken_at.isocalendar()[:2]: each.id for each in moments}
    months = {each.taken_at.strftime("%Y-%m"): each.id for each in moments}
    return days | set(list(weeks.values())[-plan.weekly :]) | set(list(months.values())[-plan.monthly :])


@pytest.mark.parametrize("name", PLANS)
def test_the_window_of_the_plan_is_exact(name: str) -> None:
    plan = Retention(PLANS[name].daily_days, weekly=0, monthly=0)
    now = START
    taken = [DatedSnapshot(str(age), "on_demand", now - timedelta(days=age)) for age in range(60)]
    inside = DatedSnapshot("just inside", "before_push", now - plan.window + timedelta(seconds=1))
    assert decide([*taken, inside], plan, now).keys() == {
        *map(str, range(plan.daily_days)),
        "just inside",
    }


def test_a_site_whose_backups_fail_keeps_its_latest_and_its_latest_verified_snapshot() -> None:
    long_ago = START - timedelta(days=400)
    kept = decide(
        [
            DatedSnapshot("verified", "on_demand", long_ago, is_verified=True),
            DatedSnapshot("older", "on_demand", long_ago - timedelta(days=1), is_verified=True),
            DatedSnapshot("latest", "before_push", long_ago + timedelta(days=1)),
        ],
        Retention(),
        START,
    )
    assert kept == {"verified": "latest", "latest": "latest"}


@pytest.mark.parametrize(
    "kind",
    ["on_demand", "before_push", "before_restore", "before_switch", "before_update", "before_quarantine"],
)
def test_only_scheduled_snapshots_are_kept_for_weeks_and_months(kind: SnapshotKind) -> None:
    newest = DatedSnapshot("newest", "scheduled", START)
    old = DatedSnapshot("old", kind, START - timedelta(days=20))
    assert decide([newest, old], Retention(), START).keys() == {"newest"}


def test_reasons_say_why_a_snapshot_is_kept_beyond_the_window() -> None:
    """On Monday, 16 November 2026."""
    now = datetime(2026, 11, 16, 2, tzinfo=UTC)
    nights = [now - timedelta(days=age) for age in range(60)]
    kept = decide([DatedSnapshot(f"{each:%m-%d}", "scheduled", each) for each in nights], Retention(7), now)
    assert {id_: reason for id_, reason in kept.items() if reason is not None} == {
        "11-08": "weekly",
        "11-01": "weekly",
        "10-31": "monthly",
        "09-30": "monthly",
    }
    assert list(kept.values()).count(None) == 7


def test_the_last_snapshot_of_a_deleted_site_is_kept_as_long_as_the_site_can_be_recovered() -> None:
    final = DatedSnapshot("final", "site_deleted", START)
    other = DatedSnapshot("other", "on_demand", START + timedelta(days=29))
    for age, expected in ((29, {"final": "site_deleted", "other": None}), (31, {"other": None})):
        assert decide([final, other], Retention(), START + timedelta(days=age)) == expected


def test_a_failed_backup_is_tried_again_soon_and_not_after_the_next_turn() -> None:
    site = new_id("site")
    turn = next_due(site, START)
    assert due_after_failure(site, turn) == turn + RETRY_AFTER
    shortly_before = turn - timedelta(hours=1)
    assert due_after_failure(site, shortly_before) == turn


def test_clocks_that_jump_never_skip_a_night() -> None:
    """A clock that goes back repeats a night at most; one that goes forward has its turn at once."""
    site = new_id("site")
    turn = next_due(site, START)
    assert next_due(site, turn - timedelta(hours=5)) == turn
    assert next_due(site, turn + timedelta(days=3)) == turn + timedelta(days=4)
