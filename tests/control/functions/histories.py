"""Checks that a history of operations is linearizable: that every operation can have happened at one moment
between its start and its end.

An operation without a result may have happened at any moment after its start, or never. Every state has a
number that grows (the value of a counter, the revision of a key, the token of a lock), which gives the only
order that is possible; the checks compare it with the times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf


@dataclass
class Increment:
    start: float
    end: float = inf
    value: int | None = None
    """None: nobody knows whether it happened."""


@dataclass
class CounterRead:
    start: float
    end: float
    value: int


@dataclass
class Write:
    """Replaces the revision `base` of a key by a value that no other write has."""

    start: float
    value: str
    base: int
    end: float = inf
    revision: int | None = None
    is_refused: bool = False


@dataclass
class Read:
    start: float
    end: float
    revision: int
    value: str | None


@dataclass
class Holding:
    """A lock that was taken; `released` is when its owner began to give it back, or it expired."""

    start: float
    end: float
    token: int
    released: float


def check_counter(increments: Sequence[Increment], reads: Sequence[CounterRead], last: int) -> list[str]:
    """What is wrong; `last` was read when nothing could happen any more."""
    known = {each.value: each for each in increments if each.value is not None}
    unknown = sorted(each.start for each in increments if each.value is None)
    wrong = []
    if len(known) + len(unknown) != len(increments):
        wrong.append("two increments have the same value")
    wrong += _check_times([(each.start, each.end, each.value or 0, True) for each in known.values()], reads)
    # A value that nobody was told is that of an increment without a result, which began before the next value
    # was seen.
    deadlines = sorted(
        min((each.end for value, each in known.items() if value > missing), default=inf)
        for missing in set(range(1, last + 1)) - known.keys()
    )
    for number, deadline in enumerate(deadlines, 1):
        if sum(start < deadline for start in unknown) < number:
            wrong.append("a value of the counter belongs to no increment")
    if max(known, default=0) > last:
        wrong.append("an increment was lost")
    return wrong


def _check_times(
    operations: Iterable[tuple[float, float, int, bool]], reads: Iterable[CounterRead]
) -> list[str]:
    """Nothing that began after the end of another operation may be older than that operation."""
    every = [*operations, *((read.start, read.end, read.value, False) for read in reads)]
    wrong = []
    ends = sorted(every, key=lambda each: each[1])
    newest, position = -1, 0
    for start, _, number, is_change in sorted(every):
        while position < len(ends) and ends[position][1] < start:
            newest, position = max(newest, ends[position][2]), position + 1
        if number < newest or (is_change and number == newest):
            wrong.append(f"{number} was seen after {newest}")
    return wrong


def check_key(writes: Sequence[Write], reads: Sequence[Read]) -> list[str]:
    made = {each.revision: each for each in writes if each.revision is not None}
    by_value = {each.value: each for each in writes}
    wrong = []
    for read in reads:
        write = by_value.get(read.value or "")
        if write is not None:
            wrong += _check_read(read, write)
            # A write without a result has happened.
            made.setdefault(read.revision, write)
        elif read.revision:
            wrong.append("a read has a value that nobody wrote")
    bases = [each.base for each in made.values()]
    if len(set(bases)) != len(bases):
        wrong.append("two writes replaced the same revision")
    revisions = sorted([0, *made])
    for before, revision in pairwise(revisions):
        base = made[revision].base
        if base > before or (base < before and base in revisions):
            wrong.append(f"revision {revision} replaced {base}, and not {before}")
    for refused in (each for each in writes if each.is_refused):
        newer = (each for revision, each in made.items() if revision != refused.base)
        unknown = (each for each in writes if each.revision is None and not each.is_refused)
        if not any(each.start < refused.end for each in (*newer, *unknown)):
            wrong.append("a write was refused, and nobody else wrote")
    changes = [(each.start, each.end, revision, True) for revision, each in made.items()]
    return wrong + _check_times(changes, [CounterRead(each.start, each.end, each.revision) for each in reads])


def _check_read(read: Read, write: Write) -> list[str]:
    """Compare a read with the write of its value."""
    wrong = []
    if write.is_refused or (write.revision is not None and write.revision != read.revision):
        wrong.append("a read has a value with the revision of another one")
    if read.end < write.start:
        wrong.append("a read has a value before it was written")
    return wrong


def check_lock(holdings: Sequence[Holding]) -> list[str]:
    wrong = _check_times([(each.start, each.end, each.token, True) for each in holdings], ())
    for before, after in pairwise(sorted(holdings, key=lambda each: each.token)):
        if after.end < before.released and before.end < after.released and before.end < before.released:
            wrong.append(f"{before.token} and {after.token} had the lock at the same time")
    if len({each.token for each in holdings}) != len(holdings):
        wrong.append("two owners have the same token")
    return wrong
