"""Reads a chunk of a node, and checks how large it is. No I/O.

Its rows are never looked at in Python: they go to ClickHouse as the node has compressed them, in a statement
that keeps those of the environments and times that were decided (`selection.py`).
"""

import zstandard
from msgspec import MsgspecError, Struct

from stead.protocol.telemetry import MAX_PLAIN_BYTES, ChunkHead, read_head

_PIECE_BYTES = 256 << 10
_WINDOW_BYTES = 1 << 27


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

    def __init__(self, content: bytes) -> None:
        line, found, self.rows = content.partition(b"\n")
        """`rows` are compressed."""
        if not found:
            raise ChunkInvalid("it has no head")
        try:
            self.head: ChunkHead = read_head(line)
        except MsgspecError as error:
            raise ChunkInvalid(type(error).__name__) from None
        _check_size(self.rows)

    @property
    def environments(self) -> list[str]:
        return [part.environment for part in self.head.parts]

    def count_rows(self, decisions: Decisions) -> int:
        """How many rows are of these environments, as the node says."""
        return sum(part.rows for part in self.head.parts if part.environment in decisions)


def _check_size(compressed: bytes) -> None:
    """A node may lie about the size of what it has compressed, so all of it is decompressed, piece by piece
    in the same memory."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    piece, size = bytearray(_PIECE_BYTES), 0
    try:
        with decompressor.stream_reader(compressed, read_across_frames=True) as reader:
            while found := reader.readinto(piece):
                size += found
                if size > MAX_PLAIN_BYTES:
                    raise ChunkInvalid("it is too large")
    except zstandard.ZstdError:
        raise ChunkInvalid("it cannot be decompressed") from None
    if not size:
        raise ChunkInvalid("it has no rows")
