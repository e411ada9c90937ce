"""Reads one zstd frame, and passes it to the library block by block.

A block decompresses to at most 128 KiB, so memory is limited whatever the frame says. The last block ends the
frame, so data after the frame and a missing end are both noticed.
"""

from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from stead.artifacts.limits import MiB
from stead.artifacts.streams import ExpansionLimit, broken_archive

WINDOW = 8 * MiB
_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 17
_RLE, _COMPRESSED = 1, 2


class _Frame:
    def __init__(self, file: BinaryIO, expansion: ExpansionLimit) -> None:
        self._file, self._expansion = file, expansion
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()

    def read(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise broken_archive("the compressed data ends too early")
        self._expansion.bytes_in += count
        return data

    def feed(self, data: bytes) -> bytes:
        try:
            chunk = self._decompressor.decompress(data)
        except zstandard.ZstdError:
            raise broken_archive("the compressed data is damaged") from None
        self._expansion.add_output(len(chunk))
        return chunk

    def read_header(self) -> bool:
        """Return whether a checksum follows the last block."""
        start = self.read(5)
        if not start.startswith(_MAGIC):
            raise broken_archive("it is no zstd frame")
        descriptor = start[4]
        if descriptor & 3:
            raise broken_archive("it was compressed with a dictionary")
        single = descriptor >> 5 & 1
        self.feed(start + self.read((1 - single) + (single, 2, 4, 8)[descriptor >> 6]))
        return bool(descriptor & 4)

    def read_block(self) -> tuple[bytes, bool]:
        """The decompressed block, and whether it is the last one."""
        header = self.read(3)
        value = int.from_bytes(header, "little")
        last, kind, size = bool(value & 1), value >> 1 & 3, value >> 3
        if size > _BLOCK or kind > _COMPRESSED or not (size or last):
            raise broken_archive("the compressed data is damaged")
        return self.feed(header + self.read(1 if kind == _RLE else size)), last

    def require_end(self) -> None:
        if not self._decompressor.eof:
            raise broken_archive("the compressed data is damaged")
        if self._file.read(1):
            raise broken_archive("something follows the end of the compressed data")


def unzstd(file: BinaryIO, expansion: ExpansionLimit) -> Iterator[bytes]:
    frame = _Frame(file, expansion)
    checksum, last = frame.read_header(), False
    while not last:
        chunk, last = frame.read_block()
        if chunk:
            yield chunk
    if checksum and (chunk := frame.feed(frame.read(4))):
        yield chunk
    frame.require_end()
