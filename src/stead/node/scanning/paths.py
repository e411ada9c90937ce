"""Paths of customers' files as text: for messages, lists and people, and back."""

import errno
import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_PLAIN = re.compile(r"[^\\\x00-\x1f\x7f\ud800-\udfff]+")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
MAX_BYTES = 2000
"""A longer path is reported cut, and its file is not moved."""
MAX_HASHED_BYTES = 512 << 20
"""A file with holes can be larger than any disk: reading one must not keep a node busy."""


class PathRefused(ValueError):
    """The path is not one below a site."""


def to_text(path: bytes) -> str:
    """Bytes that are no text are written as `\\xff`."""
    if len(path) > MAX_BYTES:
        return to_text(path[: MAX_BYTES - 10]) + "…"
    try:
        text = path.decode()
    except UnicodeDecodeError:
        text = ""
    if text and _PLAIN.fullmatch(text):
        return text
    return "".join(chr(each) if 32 <= each < 127 and each != 92 else f"\\x{each:02x}" for each in path)


def to_key(text: str) -> tuple[bytes, ...]:
    """The parts of a path. Raises PathRefused."""
    parts = _ESCAPE.split(text)
    path = b"".join(
        bytes([int(part, 16)]) if place % 2 else part.encode() for place, part in enumerate(parts)
    )
    key = tuple(path.split(b"/"))
    if len(path) > MAX_BYTES or any(part in (b"", b".", b"..") or b"\0" in part for part in key):
        raise PathRefused(text)
    return key


class FileTooLarge(OSError):
    """The file is larger than what is hashed."""


def hash_file(file: BinaryIO) -> str:
    """The SHA-256 of a file. Raises FileTooLarge."""
    made, read, size = hashlib.sha256(), 0, os.fstat(file.fileno()).st_size
    while max(read, size) <= MAX_HASHED_BYTES:
        piece = file.read(1 << 20)
        if not piece:
            return made.hexdigest()
        made.update(piece)
        read += len(piece)
    raise FileTooLarge(errno.EFBIG, os.strerror(errno.EFBIG))


def open_directory(name: os.PathLike[str] | bytes, directory: int | None = None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)


def read_beginning(top: Path, text: str, size: int = 8192) -> bytes:
    """The first bytes of a file below `top`, whose path begins with the name of `top`. No link is followed.
    Empty if it cannot be read."""
    directory = -1
    with suppress(OSError, PathRefused):
        _, *folders, name = to_key(text)
        directory = open_directory(top)
        for folder in folders:
            below = open_directory(folder, directory)
            os.close(directory)
            directory = below
        descriptor = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory
        )
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(size)
        os.close(directory)
        return content
    if directory >= 0:
        os.close(directory)
    return b""
