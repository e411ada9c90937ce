"""The bytes of a tar, however it is wrapped: strictly forward, in small pieces, and to the very end."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from stead.artifacts.limits import MiB, SizeLimits
from stead.artifacts.refusals import ArchiveRefused

CHUNK = 1 << 17
PADDING = 1 * MiB
"""How many zeros may follow the end of a tar."""


def broken(reason: str) -> ArchiveRefused:
    return ArchiveRefused("archive.broken", reason)


class ExpansionLimit:
    """Counts what goes in and what comes out, and stops what grows out of proportion."""

    def __init__(self, limits: SizeLimits) -> None:
        self._limits = limits
        self.taken = self.given = 0

    def gave(self, count: int) -> None:
        self.given += count
        ratio = self._limits.ratio
        if ratio is not None and self.given > self._limits.ratio_from and self.given > ratio * self.taken:
            raise ArchiveRefused(
                "archive.too_large", f"it becomes more than {ratio} times larger when unpacked"
            )


def read_plain(file: BinaryIO, guard: ExpansionLimit) -> Iterator[bytes]:
    while data := file.read(CHUNK):
        guard.taken += len(data)
        guard.gave(len(data))
        yield data


def gunzip(file: BinaryIO, guard: ExpansionLimit) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits=31)
    while not inflater.eof:
        data = file.read(CHUNK)
        if not data:
            raise broken("the compressed data ends too early")
        guard.taken += len(data)
        yield from inflate(inflater, data, guard)
    if inflater.unused_data or file.read(1):
        raise broken("something follows the end of the compressed data")


def inflate(inflater: "zlib._Decompress", data: bytes, guard: ExpansionLimit) -> Iterator[bytes]:
    """Everything that `data` stands for, never more than a piece at a time."""
    while True:
        try:
            piece = inflater.decompress(data, CHUNK)
        except zlib.error:
            raise broken("the compressed data is damaged") from None
        if piece:
            guard.gave(len(piece))
            yield piece
        data = inflater.unconsumed_tail
        if inflater.eof or (not data and len(piece) < CHUNK):
            return


class TarStream:
    """What a reader of tar needs, and the digest of all that went by."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece, self._at = b"", 0
        self._state = hashlib.sha256()

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end <= len(self._piece):
            data = self._piece[self._at : end]
            self._at = end
            return data
        return b"".join(self.some(count))

    def some(self, count: int) -> Iterator[bytes]:
        """Exactly so many bytes, in pieces."""
        while count:
            if self._at == len(self._piece) and not self._next():
                raise broken("the archive ends too early")
            data = self._piece[self._at : self._at + count]
            self._at += len(data)
            count -= len(data)
            yield data

    def end_in_zeros(self) -> None:
        """Nothing but padding is left, and not much of it."""
        left = PADDING
        while self._at < len(self._piece) or self._next():
            data = self._piece[self._at :]
            self._at = len(self._piece)
            left -= len(data)
            if data.strip(b"\0") or left < 0:
                raise broken("something follows the end of the archive")

    def digest(self) -> str:
        return f"sha256:{self._state.hexdigest()}"

    def _next(self) -> bool:
        self._piece, self._at = next(self._pieces, b""), 0
        self._state.update(self._piece)
        return bool(self._piece)
