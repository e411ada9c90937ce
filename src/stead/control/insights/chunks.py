"""Reads a chunk of a node, and checks how large it is. No I/O.

Its rows are never looked at in Python: they go to ClickHouse as the node has compressed them, in a statement
that keeps those of the environments and times that were decided (`selection.py`).
"""

import zstandard
from msgspec import MsgspecError, Struct

from stead.protocol.telemetry import MAX_PLAIN_BYTES, ChunkHead, read_head

_PIECE_BYTES = 256 << 10
_WINDOW_BYTES = 1 << 27
_MAGIC = b"\x28\xb5\x2f\xfd"
_MAX_FRAME_HEAD = 18
_BLOCK_BYTES = 128 << 10
"""Of a block, decompressed. Decoders refuse larger ones."""
_REPEATED, _COMPRESSED = 1, 2
"""Types of blocks. The content of others is not compressed."""


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
    """A node may lie about the size of what it has compressed. The number of blocks is usually proof enough;
    otherwise all of it is decompressed."""
    size = _largest_size(compressed)
    if not size:
        raise ChunkInvalid("it has no rows")
    if size > MAX_PLAIN_BYTES:
        _check_exact_size(compressed)


def _largest_size(compressed: bytes) -> int:
    """How many bytes it can be at most, from the heads of its blocks (RFC 8878, section 3.1.1)."""
    position = size = 0
    while position < len(compressed):
        head = compressed[position : position + _MAX_FRAME_HEAD]
        try:
            frame, length = zstandard.get_frame_parameters(head), zstandard.frame_header_size(head)
        except zstandard.ZstdError:
            raise ChunkInvalid("it cannot be decompressed") from None
        if not head.startswith(_MAGIC) or frame.window_size > _WINDOW_BYTES:
            raise ChunkInvalid("it cannot be decompressed")
        position, is_last = position + length, False
        while not is_last:
            block = int.from_bytes(compressed[position : position + 3], "little")
            is_last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
            position += 3 + (1 if kind == _REPEATED else length)
            size += _BLOCK_BYTES if kind == _COMPRESSED else length
            if position > len(compressed):
                raise ChunkInvalid("it is cut off")
        position += 4 if frame.has_checksum else 0
    return size


def _check_exact_size(compressed: bytes) -> None:
    """Piece by piece, in the same memory."""
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
