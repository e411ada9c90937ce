"""Reads the ledger of the node's edge, and makes chunks of it.

nginx may still write to a ledger that has been rotated, so all of them are read until they are removed. What
was not read by then is lost, and counted as a gap.
"""

import hashlib
import time
from pathlib import Path

from stead.node.telemetry.ledger_rows import format_row, read_line
from stead.node.telemetry.spans import add_edge_span, is_traced
from stead.node.telemetry.spool import NewRows, Position, Spool
from stead.node.telemetry.vitals import Vitals, is_measurement
from stead.protocol.telemetry import Gap

READ_BYTES = 12 << 20
"""The lines of one chunk; about 30,000."""
MAX_FIRST_LINE = 64 * 1024
_KIND = b"ledger:"
FLUSH_SECONDS = 2.0
"""nginx writes a line at most this long after its request."""


class LedgerSource:
    """Its methods block."""

    def __init__(self, ledger: Path, spool: Spool) -> None:
        self._ledger, self._spool = ledger, spool
        self._vitals = Vitals()
        self.until = 0.0
        """Everything up to then is in chunks."""
        self.lost = 0

    def read_new(self) -> None:
        """Make chunks of everything that is new, unless too much waits already."""
        began, present = time.time(), set()
        with self._spool.lock:
            for path in self._files():
                file = _identify(path)
                if file is None:
                    continue
                present.add(file)
                while not self._spool.is_full and self._read_part(path, file, began - FLUSH_SECONDS):
                    pass
            self._spool.forget_files(_KIND, present)
            if not self._spool.is_full:
                self.until = began - FLUSH_SECONDS

    def before_removal(self, path: Path) -> None:
        """Count what is lost with a rotated ledger that is about to be removed."""
        with self._spool.lock:
            file = _identify(path)
            if file is None:
                return
            moments = []
            with path.open("rb") as lines:
                lines.seek((self._spool.position(file) or Position()).offset)
                for line in lines:
                    visit = read_line(line)
                    if visit is not None and not is_measurement(visit):
                        moments.append(visit.ts)
            if moments:
                self.lost += len(moments)
                self._spool.add_gap(Gap("requests", min(moments), max(moments), len(moments)))

    def _files(self) -> list[Path]:
        """The oldest first. The names of rotated ledgers contain the time."""
        pattern = f"{self._ledger.stem}.*{self._ledger.suffix}"
        rotated = sorted(path for path in self._ledger.parent.glob(pattern) if path != self._ledger)
        return [*rotated, self._ledger]

    def _read_part(self, path: Path, file: bytes, until: float) -> bool:
        """Return whether there was anything."""
        start = (self._spool.position(file) or Position()).offset
        try:
            with path.open("rb") as lines:
                lines.seek(start)
                content = lines.read(READ_BYTES)
        except FileNotFoundError:
            return False
        complete = content[: content.rfind(b"\n") + 1]
        if not complete:
            return False
        rows, spans = NewRows("requests"), NewRows("spans")
        for line in complete.split(b"\n"):
            visit = read_line(line) if line else None
            if visit is None:
                continue
            if is_measurement(visit):
                self._vitals.receive(visit)
                continue
            rows.add(visit.environment, visit.ts, format_row(visit))
            self._vitals.add_page_view(visit)
            if is_traced(visit):
                add_edge_span(spans, visit)
        position = {file: Position(start + len(complete))}
        self._spool.save(position, rows, until, spans, self._vitals.take_rows())
        return True


def _identify(path: Path) -> bytes | None:
    """A file is known by its first line, which contains a random id; renaming it changes nothing. None if it
    has no complete line."""
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_FIRST_LINE)
    except FileNotFoundError:
        return None
    return _KIND + hashlib.sha256(line).digest() if line.endswith(b"\n") else None
