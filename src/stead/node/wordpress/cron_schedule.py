"""When the scheduled events of each WordPress environment are due, in a table that survives every restart."""

import hashlib
import sqlite3
import time
from pathlib import Path

from msgspec import Struct

from stead.node.sqlite import transaction
from stead.node.wordpress.agent_socket import CronTimes

EVERY_SECONDS = 60.0
ASLEEP_SECONDS = 900.0
"""Repeated events wake a sleeping site at most this often; others are run in time."""
UNKNOWN_SECONDS = 86_400.0
"""A site is asked at least this often: what it reported may be lost."""
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 3600.0
JITTER_SECONDS = 30.0
SAME_TIME_SECONDS = 60.0

_TABLE = """
create table if not exists schedule (
    environment text primary key,
    next_at real,
    once_at real,
    last_run real not null default 0,
    not_before real not null default 0,
    failures integer not null default 0,
    slow integer not null default 0
) strict, without rowid
"""


class CronState(Struct):
    next_at: float | None = 0.0
    """None if nothing is due; 0 if that is not known yet."""
    once_at: float | None = None
    last_run: float = 0.0
    not_before: float = 0.0
    failures: int = 0
    slow: bool = False
    """Whether its last run took long."""
    reported_at: float = 0.0
    """When the site last reported since its last run."""
    before_run: tuple[float | None, float | None, float] | None = None
    """`next_at`, `once_at` and `last_run` before the run that has begun, until the site has reported."""

    def due_at(self, environment: str, *, asleep: bool) -> float:
        next_at, once_at = self._bounded(self.next_at), self._bounded(self.once_at)
        if asleep:
            next_at = min(max(next_at, self.last_run + ASLEEP_SECONDS), once_at)
        earliest = max(self.last_run + EVERY_SECONDS, self.not_before)
        return max(next_at, earliest) + _jitter(environment)

    def _bounded(self, moment: float | None) -> float:
        latest = self.last_run + UNKNOWN_SECONDS
        return latest if moment is None else min(moment, latest)


class CronSchedule:
    """Changes are in memory until `save`."""

    def __init__(self, file: Path) -> None:
        file.touch(mode=0o600)
        self._database = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute(_TABLE)
        columns = "environment, next_at, once_at, last_run, not_before, failures, slow"
        rows = self._database.execute(f"select {columns} from schedule")  # noqa: S608
        self._states: dict[str, CronState] = {}
        for name, next_at, once_at, last_run, not_before, failures, slow in rows:
            self._states[name] = CronState(next_at, once_at, last_run, not_before, failures, bool(slow))
        self._changed: set[str] = set()

    def close(self) -> None:
        self.save()
        self._database.close()

    def get(self, environment: str) -> CronState:
        """The state of the environment. A new one is asked soon if it is awake, and otherwise within a
        quarter of an hour: many may be new at once."""
        if environment not in self._states:
            past = EVERY_SECONDS + (ASLEEP_SECONDS - EVERY_SECONDS) * _fraction(environment)
            self._states[environment] = CronState(last_run=time.time() - past)
            self._changed.add(environment)
        return self._states[environment]

    def report(self, environment: str, times: CronTimes) -> None:
        """Of two reports at about the same time the earlier moment counts: requests that end together may
        report in another order than they have changed something."""
        state, now = self.get(environment), time.time()
        if now - state.reported_at < SAME_TIME_SECONDS:
            state.next_at = _earlier(state.next_at, times.next)
            state.once_at = _earlier(state.once_at, times.once)
        else:
            state.next_at, state.once_at = times.next, times.once
        state.reported_at, state.before_run = now, None
        self._changed.add(environment)

    def ask_soon(self, environment: str) -> None:
        """Nobody has listened to the environment for a while."""
        state = self.get(environment)
        state.next_at = 0.0
        if state.before_run is not None:
            state.before_run = (0.0, *state.before_run[1:])
        self._changed.add(environment)

    def note_start(self, environment: str, now: float) -> None:
        """Only in memory: after a crash the events are still due."""
        state = self.get(environment)
        state.before_run = (state.next_at, state.once_at, state.last_run)
        state.last_run, state.reported_at = now, 0.0
        if state.next_at is not None and state.next_at <= now:
            # Until the site has reported, which it does at the end of the run.
            state.next_at = now + LONGEST_PAUSE
        if state.once_at is not None and state.once_at <= now:
            state.once_at = None

    def postpone(self, environment: str) -> None:
        """The node had no room to wake the environment; it is tried again in a minute."""
        state = self._states.get(environment)
        if state is not None:
            state.next_at = state.once_at = 0.0
            state.before_run = None
            self._changed.add(environment)

    def note_end(self, environment: str, *, failed: bool, slow: bool) -> None:
        state = self._states.get(environment)
        if state is None:
            # The environment was removed meanwhile.
            return
        if failed and state.before_run is not None:
            # The site has not said what is left to do, so the same is due again.
            state.next_at, state.once_at, asked_at = state.before_run
            if state.next_at is None or state.next_at > asked_at + UNKNOWN_SECONDS:
                # It was run because it had not been asked for so long.
                state.next_at = 0.0
        state.before_run = None
        state.slow = slow
        state.failures = state.failures + 1 if failed else 0
        pause = min(FIRST_PAUSE * 2**state.failures, LONGEST_PAUSE) if failed else 0.0
        state.not_before = time.time() + pause
        self._changed.add(environment)

    def forget(self, environment: str) -> None:
        self._states.pop(environment, None)
        self._changed.add(environment)

    def save(self) -> None:
        if not self._changed:
            return
        with transaction(self._database):
            for name in self._changed:
                state = self._states.get(name)
                if state is None:
                    self._database.execute("delete from schedule where environment = ?", (name,))
                    continue
                times = state.before_run or (state.next_at, state.once_at, state.last_run)
                self._database.execute(
                    "insert or replace into schedule values (?, ?, ?, ?, ?, ?, ?)",
                    (name, *times, state.not_before, state.failures, int(state.slow)),
                )
        self._changed.clear()


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)


def _jitter(environment: str) -> float:
    return _fraction(environment) * JITTER_SECONDS


def _fraction(environment: str) -> float:
    """A number from 0 to 1, always the same for an environment. Sites that were made alike do not run
    together."""
    return int.from_bytes(hashlib.sha256(environment.encode()).digest()[:2], "big") / 65536
