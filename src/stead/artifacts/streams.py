"""Reads the bytes of a tar, compressed or not: forward only, in small chunks, and to the very end."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from stead.artifacts.limits import MiB, SizeLimits
from stead.artifacts.refusals import ArchiveRefused

CHUNK = 1 << 17
MAX_PADDING = 1 * MiB
"""How many zero bytes may follow the end of a tar."""


def broken_archive(reason: str) -> ArchiveRefused:
    return ArchiveRefused("archive.broken", reason)


class ExpansionLimit:
    """Counts the bytes before and after decompression, and refuses an archive that expands too much. With
    `size`, the bytes after decompression are compared with the whole archive, not with what was read so
    far."""

    def __init__(self, limits: SizeLimits, *, size: int | None = None) -> None:
        self._limits, self._size = limits, size
        self.bytes_in = self.bytes_out = 0

    def add_output(self, count: int) -> None:
        self.bytes_out += count
        packed = self.bytes_in if self._size is None else self._size
        if self._limits.expands_too_much(packed, self.bytes_out):
            raise ArchiveRefused(
                "archive.too_large", f"it becomes more than {self._limits.ratio} times larger when unpacked"
            )


def read_plain(file: BinaryIO, expansion: ExpansionLimit) -> Iterator[bytes]:
    while data := file.read(CHUNK):
        expansion.bytes_in += len(data)
        expansion.add_output(len(data))
        yield data


def gunzip(file: BinaryIO, expansion: ExpansionLimit) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits=31)
    while not inflater.eof:
        data = file.read(CHUNK)
        if not data:
            raise broken_archive("the compressed data ends too early")
        expansion.bytes_in += len(data)
        yield from inflate(inflater, data, expansion)
    if inflater.unused_data or file.read(1):
        raise broken_archive("something follows the end of the compressed data")


def inflate(inflater: "zlib._Decompress", data: bytes, expansion: ExpansionLimit) -> Iterator[bytes]:
    """Decompress the data, at most one chunk at a time."""
    while True:
        try:
            chunk = inflater.decompress(data, CHUNK)
        except zlib.error:
            raise broken_archive("the compressed data is damaged") from None
        if chunk:
            expansion.add_output(len(chunk))
            yield chunk
        data = inflater.unconsumed_tail
        if inflater.eof or (not data and len(chunk) < CHUNK):
            return


class TarStream:
    """Reads exact numbers of bytes for a tar reader, and computes the digest of all bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._chunk, self._at = b"", 0
        self._state = hashlib.sha256()

    def read(self, count: int) -> bytes:
        end = self._at + count
        if end <= len(self._chunk):
            data = self._chunk[self._at : end]
            self._at = end
            return data
        return b"".join(self.read_chunks(count))

    def read_chunks(self, count: int) -> Iterator[bytes]:
        """Exactly `count` bytes, in chunks."""
        while count:
            if self._at == len(self._chunk) and not self._next():
                raise broken_archive("the archive ends too early")
            data = self._chunk[self._at : self._at + count]
            self._at += len(data)
            count -= len(data)
            yield data

    def require_padding(self) -> None:
        """Check that only a limited number of zero bytes is left."""
        left = MAX_PADDING
        while self._at < len(self._chunk) or self._next():
            data = self._chunk[self._at :]
            self._at = len(self._chunk)
            left -= len(data)
            if data.strip(b"\0") or left < 0:
                raise broken_archive("something follows the end of the archive")

    def digest(self) -> str:
        return f"sha256:{self._state.hexdigest()}"

    def _next(self) -> bool:
        self._chunk, self._at = next(self._chunks, b""), 0
        self._state.update(self._chunk)
        return bool(self._chunk)
