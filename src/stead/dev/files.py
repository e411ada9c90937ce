"""Files that are replaced atomically, and locks that end with the process that holds them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read_json(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None


def write_json(path: Path, value: object, *, durable: bool = True) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(value), indent=2), durable=durable)


def write_private(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Writes a file that only its owner can read. Readers see either the old or the new content. A durable
    one survives a power failure; the caller waits for the disk."""
    replacement = path.with_name(path.name + ".new")
    fd = os.open(replacement, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(fd)
    replacement.replace(path)


class LockHeld(Exception):
    """Another process holds the lock."""


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise LockHeld(path) from None
    finally:
        os.close(fd)
