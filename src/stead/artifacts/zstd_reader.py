"""One zstd frame, handed to the library block by block.

A block stands for at most 128 KiB, so memory is bounded whatever the frame says; and the end of the last
block is the end of the frame, so neither can anything follow unseen nor an end be missing.
"""

from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from stead.artifacts.limits import MiB
from stead.artifacts.streams import ExpansionLimit, broken

WINDOW = 8 * MiB
_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 17
_RLE, _COMPRESSED = 1, 2


class _Frame:
    def __init__(self, file: BinaryIO, guard: ExpansionLimit) -> None:
        self._file, self._guard = file, guard
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()

    def take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise broken("the compressed data ends too early")
        self._guard.taken += count
        return data

    def feed(self, data: bytes) -> bytes:
        try:
            piece = self._decompressor.decompress(data)
        except zstandard.ZstdError:
            raise broken("the compressed data is damaged") from None
        self._guard.gave(len(piece))
        return piece

    def head(self) -> bool:
        """Whether a checksum follows the last block."""
        start = self.take(5)
        if not start.startswith(_MAGIC):
            raise broken("it is no zstd frame")
        descriptor = start[4]
        if descriptor & 3:
            raise broken("it was compressed with a dictionary")
        single = descriptor >> 5 & 1
        self.feed(start + self.take((1 - single) + (single, 2, 4, 8)[descriptor >> 6]))
        return bool(descriptor & 4)

    def block(self) -> tuple[bytes, bool]:
        """What it stands for, and whether it is the last one."""
        header = self.take(3)
        value = int.from_bytes(header, "little")
        last, kind, size = bool(value & 1), value >> 1 & 3, value >> 3
        if size > _BLOCK or kind > _COMPRESSED or not (size or last):
            raise broken("the compressed data is damaged")
        return self.feed(header + self.take(1 if kind == _RLE else size)), last

    def end(self) -> None:
        if not self._decompressor.eof:
            raise broken("the compressed data is damaged")
        if self._file.read(1):
            raise broken("something follows the end of the compressed data")


def unzstd(file: BinaryIO, guard: ExpansionLimit) -> Iterator[bytes]:
    frame = _Frame(file, guard)
    checksum, last = frame.head(), False
    while not last:
        piece, last = frame.block()
        if piece:
            yield piece
    if checksum and (piece := frame.feed(frame.take(4))):
        yield piece
    frame.end()
