"""How much output a job may store: all tenants share one stream, so no job and no site may fill it."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

MAX_BYTES = 16 << 20
"""For the output of one job on this node."""
SITE_BYTES = 128 << 20
"""For the output of all jobs of a site on this node, in one day."""
LEAST_BYTES = 4 << 10
"""For a job of a site that has used up its day."""
RESERVE_BYTES = 64 << 10
"""For the node's own lines, in addition: the reason of a failure is shown also when the limit is reached."""
LINE_BYTES = 128
"""What a line takes in the stream besides its text."""
_RECORD_EVERY = 256 << 10
_KEEP_SECONDS = 2 * 86_400.0
"""Longer than any job may take."""


class OutputLedger:
    """The bytes that each job, and each site, has written. It survives a restart of the agent, which executes
    commands again."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")
        self._database.execute(
            "create table if not exists output"
            " (job text primary key, bytes integer not null, written_at real not null) strict, without rowid"
        )
        self._database.execute(
            "create table if not exists output_of_sites (site text, day integer, bytes integer not null,"
            " primary key (site, day)) strict, without rowid"
        )

    def close(self) -> None:
        self._database.close()

    def budget(self, job: str, site: str = "") -> "OutputBudget":
        """Of a job, and of its site if it has one."""
        used = self._find("select bytes from output where job = ?", job)
        max_bytes = MAX_BYTES
        if site:
            today = self._find(
                "select bytes from output_of_sites where site = ? and day = ?", site, _current_day()
            )
            max_bytes = min(max_bytes, used + max(SITE_BYTES - today, LEAST_BYTES))
        return OutputBudget(used, lambda count: self._add(job, site, count), max_bytes=max_bytes)

    def _find(self, sql: str, *values: object) -> int:
        found = self._database.execute(sql, values).fetchone()
        return int(found[0]) if found else 0

    def _add(self, job: str, site: str, count: int) -> None:
        if site:
            self._database.execute(
                "insert into output_of_sites values (?, ?, ?) on conflict (site, day) do update"
                " set bytes = bytes + excluded.bytes",
                (site, _current_day(), count),
            )
        self._database.execute(
            "insert into output values (?, ?, ?) on conflict (job) do update"
            " set bytes = bytes + excluded.bytes, written_at = excluded.written_at",
            (job, count, time.time()),
        )

    def remove_old(self) -> None:
        self._database.execute("delete from output where written_at < ?", (time.time() - _KEEP_SECONDS,))
        self._database.execute("delete from output_of_sites where day < ?", (_current_day(),))


def _current_day() -> int:
    return int(time.time() // 86_400)


def _forget(_: int) -> None:
    return


class OutputBudget:
    def __init__(
        self, used: int = 0, record: Callable[[int], None] = _forget, *, max_bytes: int = MAX_BYTES
    ) -> None:
        self._used, self._record, self.max_bytes = used, record, max_bytes
        self._unrecorded = 0
        self.cut_lines = self.cut_bytes = 0

    @property
    def limit(self) -> str:
        """Which limit it is, for the output."""
        if self.max_bytes < MAX_BYTES:
            return f"the limit of {SITE_BYTES >> 20} MiB in a day for all jobs of the site"
        return f"the limit of {MAX_BYTES >> 20} MiB"

    def take(self, text: str, *, own: bool) -> bool:
        """Return whether the line may be stored. `own` lines are those of the node itself."""
        size = len(text.encode())
        cost = size + LINE_BYTES
        if self._used + cost > self.max_bytes + (RESERVE_BYTES if own else 0):
            self.count_cut(size)
            return False
        self._used += cost
        self._unrecorded += cost
        if self._unrecorded >= _RECORD_EVERY:
            self.save()
        return True

    def count_cut(self, size: int) -> None:
        self.cut_lines += 1
        self.cut_bytes += size

    def save(self) -> None:
        if self._unrecorded:
            self._record(self._unrecorded)
            self._unrecorded = 0
