"""Rotates the ledger of the node's edge, and removes old ones, so that it never fills the disk."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from stead.edge.ledger import rotate_ledger

MAX_BYTES = 256 * 1024 * 1024
MAX_SECONDS = 86_400.0
KEPT = 4
"""How many rotated ledgers are kept."""

log = structlog.get_logger()


class LedgerRotation:
    """`pid_file` is the one of nginx."""

    def __init__(
        self,
        ledger: Path,
        pid_file: Path,
        *,
        max_bytes: int = MAX_BYTES,
        max_seconds: float = MAX_SECONDS,
        kept: int = KEPT,
        before_removal: Callable[[Path], None] = lambda _: None,
    ) -> None:
        """`before_removal` gets each rotated ledger that is about to be removed."""
        self._ledger, self._pid_file = ledger, pid_file
        self._max_bytes, self._max_seconds, self._kept = max_bytes, max_seconds, kept
        self._before_removal = before_removal
        self._rotated_at = time.monotonic()

    async def rotate_if_due(self) -> Path | None:
        """Return the complete file if the ledger was large or old enough to be rotated."""
        try:
            size, master = self._ledger.stat().st_size, int(self._pid_file.read_text())
            os.kill(master, 0)  # raises unless this process may send signals to it
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None  # nginx is not running, so nobody writes
        is_old = size > 0 and time.monotonic() - self._rotated_at > self._max_seconds
        if size <= self._max_bytes and not is_old:
            return None
        if not _is_nginx(master):
            return None
        rotated = await rotate_ledger(self._ledger, master)
        self._rotated_at = time.monotonic()
        log.info("ledger.rotated", bytes=size)
        return rotated

    def remove_old(self) -> int:
        """Remove all but the newest rotated ledgers. Their names contain the time, so they sort by age."""
        pattern = f"{self._ledger.stem}.*{self._ledger.suffix}"
        rotated = sorted(path for path in self._ledger.parent.glob(pattern) if path != self._ledger)
        old = rotated[: max(len(rotated) - self._kept, 0)]
        for path in old:
            self._before_removal(path)
            os.unlink(path)  # noqa: PTH108
        return len(old)


def _is_nginx(pid: int) -> bool:
    """Another process may have got the pid of an nginx that was killed."""
    try:
        return b"nginx: master" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
