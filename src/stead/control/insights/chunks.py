"""Reads a chunk of a node, and selects and labels its rows. No I/O.

A row is never interpreted here: the rows of an environment are split at newlines, rows of other times are
left out, and the others get the same columns in front.
"""

import zstandard
from msgspec import MsgspecError, Struct

from stead.protocol.telemetry import MAX_PLAIN_BYTES, TIME_DIGITS, ChunkHead, read_head


class ChunkInvalid(Exception):
    """A node has sent something that is not a chunk."""


class Decision(Struct, frozen=True, array_like=True):
    """Which rows of an environment are kept: it was on the node from `first` to `last`, in seconds since
    1970. Recorded before the first attempt to insert a chunk, so that every attempt inserts the same rows."""

    site_id: str
    keep_days: int
    first: float
    last: float


Decisions = dict[str, Decision]
"""By environment. Rows of others are dropped."""


class OpenChunk:
    """A chunk whose head has been read."""

    def __init__(self, compressed: bytes) -> None:
        plain = _decompress(compressed)
        line, found, rows = plain.partition(b"\n")
        if not found:
            raise ChunkInvalid("it has no head")
        try:
            self.head: ChunkHead = read_head(line)
        except MsgspecError as error:
            raise ChunkInvalid(type(error).__name__) from None
        if sum(part.size for part in self.head.parts) != len(rows):
            raise ChunkInvalid("its parts do not add up")
        self._rows = rows

    @property
    def environments(self) -> list[str]:
        return [part.environment for part in self.head.parts]

    def label_rows(self, decisions: Decisions) -> tuple[bytes, int]:
        """The rows to insert, and how many."""
        kept: list[bytes] = []
        start = 0
        for part in self.head.parts:
            end = start + part.size
            if (decision := decisions.get(part.environment)) is not None:
                kept += _label(self._rows[start:end], part.environment, decision)
            start = end
        return b"".join(kept), len(kept)


def _label(rows: bytes, environment: str, decision: Decision) -> list[bytes]:
    before = f"{decision.site_id}\t{environment}\t{decision.keep_days}\t".encode()
    # All times have the same number of digits, so they compare like numbers.
    first, last = (f"{moment:.3f}".encode() for moment in (decision.first, decision.last))
    return [
        before + row + b"\n"
        for row in rows.split(b"\n")
        if first <= row[:TIME_DIGITS] <= last and row[TIME_DIGITS : TIME_DIGITS + 1] == b"\t"
    ]


def _decompress(compressed: bytes) -> bytes:
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(compressed) as reader:
            plain: bytes = reader.read(MAX_PLAIN_BYTES + 1)
    except zstandard.ZstdError:
        raise ChunkInvalid("it cannot be decompressed") from None
    if len(plain) > MAX_PLAIN_BYTES:
        raise ChunkInvalid("it is too large")
    return plain
