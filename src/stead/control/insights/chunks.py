"""Reads a chunk of a node, and selects and labels its rows. No I/O.

A row is never interpreted here: the rows of an environment are split at newlines, rows of other times are
left out, and the others get the same columns in front.
"""

from operator import itemgetter

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


_BEHIND_TIME = itemgetter(slice(TIME_DIGITS, TIME_DIGITS + 1))

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
        start = count = 0
        for part in self.head.parts:
            end = start + part.size
            if (decision := decisions.get(part.environment)) is not None:
                labelled, found = _label(self._rows[start:end], part.environment, decision)
                kept.append(labelled)
                count += found
            start = end
        return b"".join(kept), count


def _label(rows: bytes, environment: str, decision: Decision) -> tuple[bytes, int]:
    before = f"{decision.site_id}\t{environment}\t{decision.keep_days}\t".encode()
    # All times have the same number of digits, so they compare like numbers.
    first, last = (f"{moment:.3f}".encode() for moment in (decision.first, decision.last))
    lines = rows.removesuffix(b"\n").split(b"\n")
    if not _are_all_between(lines, first, last):
        lines = [line for line in lines if _are_all_between([line], first, last)]
    if not lines:
        return b"", 0
    return b"".join([before, (b"\n" + before).join(lines), b"\n"]), len(lines)


def _are_all_between(lines: list[bytes], first: bytes, last: bytes) -> bool:
    """Without a loop in Python: this takes most of the time of an insert."""
    times = min(lines)[:TIME_DIGITS], max(lines)[:TIME_DIGITS]
    return first <= times[0] and times[1] <= last and set(map(_BEHIND_TIME, lines)) == {b"\t"}


def _decompress(compressed: bytes) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    try:
        size = zstandard.frame_content_size(compressed)
        if 0 <= size <= MAX_PLAIN_BYTES:
            return bytes(decompressor.decompress(compressed))
        with decompressor.stream_reader(compressed) as reader:
            plain: bytes = reader.read(MAX_PLAIN_BYTES + 1)
    except zstandard.ZstdError:
        raise ChunkInvalid("it cannot be decompressed") from None
    if len(plain) > MAX_PLAIN_BYTES:
        raise ChunkInvalid("it is too large")
    return plain
