"""A page of memory that a process shares with the host: since when it handles a request, until when it may,
and which one. The host ends a process that is past its time, whatever the process does."""

import json
import mmap
import struct
import time
from typing import Any

from .messages import encode_json

SIZE = mmap.PAGESIZE
_FIELDS = struct.Struct("=qq")
_LENGTH = struct.Struct("=H")
_ABOUT = _FIELDS.size + _LENGTH.size


class Activity:
    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def begin(self, seconds: float, about: dict[str, Any] | None = None) -> None:
        """`about` is what the host reports if it has to end the process."""
        content = encode_json(about or {}).encode()
        content = content if len(content) <= SIZE - _ABOUT else b"{}"
        _LENGTH.pack_into(self._memory, _FIELDS.size, len(content))
        self._memory[_ABOUT : _ABOUT + len(content)] = content
        now = time.monotonic_ns()
        _FIELDS.pack_into(self._memory, 0, now, now + int(seconds * 1e9))

    def end(self) -> None:
        _FIELDS.pack_into(self._memory, 0, 0, 0)

    def read(self) -> tuple[int, int]:
        """When the current request began and must end, in nanoseconds of the monotonic clock; zeros if there
        is none."""
        began, until = _FIELDS.unpack_from(self._memory, 0)
        return int(began), int(until)

    def read_about(self) -> dict[str, Any]:
        """What the process says about its request. It may say anything."""
        (length,) = _LENGTH.unpack_from(self._memory, _FIELDS.size)
        try:
            about = json.loads(self._memory[_ABOUT : _ABOUT + length])
        except (ValueError, RecursionError):
            return {}
        return about if isinstance(about, dict) else {}

    def close(self) -> None:
        self._memory.close()
