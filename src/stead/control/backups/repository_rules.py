"""What is kept in a repository, and what looks wrong in it. No I/O.

A node writes into the repository of its site, and may be hostile. So nothing that restic says about a
snapshot decides whether it is kept: only the table of snapshots does, and its times are those of the control
plane. What restic says is compared with the table; a difference stops the removal of anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from stead.control.engines.restic import ResticSnapshot

TIME_TOLERANCE = timedelta(days=1)
"""By which restic's time of a snapshot may differ from ours: the clock of a node may be wrong."""
SHRUNK_TO = 0.2
"""A site that suddenly has less than this part of its former size may have been emptied by an attacker."""
SMALL_BYTES = 10 * 1024 * 1024
"""Smaller sites change by large factors for harmless reasons."""
COMPARED = 5
CLOCK_TOLERANCE = timedelta(seconds=60)
"""By which the clocks of the store and of the control plane may differ."""


@dataclass(frozen=True, slots=True)
class RepositoryState:
    password: bytes
    is_initialized: bool
    is_held: bool
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Rewriting:
    """When the worker has last replaced files of a repository by others with the same content."""

    is_unfinished: bool
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class RecordedSnapshot:
    """A row of the table of snapshots."""

    id: str
    env_id: str
    status: str
    restic_id: str | None
    manifest_digest: str | None
    size_bytes: int
    taken_at: datetime
    synced_at: datetime | None
    is_wanted: bool
    """Whether it is kept, according to the table."""


@dataclass(frozen=True, slots=True)
class NewestSnapshot:
    env_id: str
    site_id: str
    snapshot_id: str
    owner: str


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    keep: tuple[str, ...]
    """As restic names them."""
    forget: tuple[str, ...]
    rows: tuple[str, ...]
    """Rows that are deleted when the data is gone."""


def plan_removal(recorded: Sequence[RecordedSnapshot], found: Sequence[ResticSnapshot]) -> RemovalPlan:
    """Everything is forgotten that the table does not want, also what it has never heard of."""
    keep = {each.restic_id for each in recorded if each.is_wanted and each.restic_id}
    in_progress = {each.id for each in recorded if each.is_wanted and not each.restic_id}
    forget = [
        each.id for each in found if each.id not in keep and not in_progress.intersection(each.tags or ())
    ]
    rows = [each.id for each in recorded if not each.is_wanted]
    return RemovalPlan(tuple(sorted(keep)), tuple(sorted(forget)), tuple(rows))


def choose_moment(stored_at: datetime | None, rewriting: Rewriting) -> int:
    """In seconds since 1970: when all files that a snapshot needs were in the store. 0 if that is unknown.
    Whoever restores it needs no file that came later."""
    if stored_at is None or rewriting.is_unfinished:
        return 0
    moment = max(stored_at, rewriting.ended_at or stored_at)
    return ceil((moment + CLOCK_TOLERANCE).timestamp())


def find_missing(recorded: Sequence[RecordedSnapshot], found: Sequence[ResticSnapshot]) -> list[str]:
    """Snapshots that the table wants and the repository does not have."""
    present = {each.id for each in found}
    return [
        each.id for each in recorded if each.is_wanted and each.restic_id and each.restic_id not in present
    ]


def find_suspicion(
    recorded: Sequence[RecordedSnapshot], found: Sequence[ResticSnapshot], now: datetime
) -> str | None:
    """Why nothing should be removed, as a sentence for an operator."""
    rows = {each.id: each for each in recorded}
    by_restic = {each.restic_id: each for each in recorded if each.restic_id}
    for each in found:
        row = by_restic.get(each.id) or next((rows[tag] for tag in each.tags or () if tag in rows), None)
        name = each.id[:8]
        if each.time > now + TIME_TOLERANCE:
            return f"The snapshot {name} claims to be from the future, {each.time:%Y-%m-%d %H:%M}."
        if row is None:
            return f"Nobody asked for the snapshot {name} of the host {each.hostname[:64]!r}."
        # Nodes give restic the environment as the name of the host: a site can move.
        if each.hostname != row.env_id:
            return f"The snapshot {row.id} names the unknown host {each.hostname[:64]!r}."
        if abs(each.time - row.taken_at) > TIME_TOLERANCE:
            return f"The snapshot {row.id} claims to be from {each.time:%Y-%m-%d %H:%M}."
        if each.id not in by_restic and row.status == "kept":
            return f"There is a second snapshot that calls itself {row.id}."
    return _find_shrinking(recorded)


def _find_shrinking(recorded: Sequence[RecordedSnapshot]) -> str | None:
    """Each environment is compared with itself."""
    by_environment: dict[str, list[RecordedSnapshot]] = {}
    for each in recorded:
        if each.status == "kept":
            by_environment.setdefault(each.env_id, []).append(each)
    for *before, newest in by_environment.values():
        sizes = sorted(each.size_bytes for each in before[-COMPARED:])
        usual = sizes[len(sizes) // 2] if sizes else 0
        if usual > SMALL_BYTES and newest.size_bytes < usual * SHRUNK_TO:
            return f"The snapshot {newest.id} has {newest.size_bytes} bytes; those before it had {usual}."
    return None
