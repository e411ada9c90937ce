"""A page of memory that a process shares with the host: since when it handles a request, until when it may,
and which one. The host ends a process that is past its time, whatever the process does."""

import mmap
import struct
import time
from typing import Any

from .tracing import MAX_NAME, Trace

SIZE = mmap.PAGESIZE
_FIELDS = struct.Struct("=qqdH")
_TIMES = struct.Struct("=qq")


class Activity:
    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def begin(self, seconds: float, began: float = 0.0, trace: Trace | None = None, name: str = "") -> None:
        """The rest is what the host reports if it has to end the process: when the request began, its trace
        and its name."""
        content = f"{trace.id} {trace.parent} {trace.span} {name}".encode()[: SIZE // 2] if trace else b""
        place = _FIELDS.size
        self._memory[place : place + len(content)] = content
        now = time.monotonic_ns()
        _FIELDS.pack_into(self._memory, 0, now, now + int(seconds * 1e9), began, len(content))

    def end(self) -> None:
        _TIMES.pack_into(self._memory, 0, 0, 0)

    def read(self) -> tuple[int, int]:
        """When the current request began and must end, in nanoseconds of the monotonic clock; zeros if there
        is none."""
        began, until = _TIMES.unpack_from(self._memory, 0)
        return int(began), int(until)

    def read_about(self) -> dict[str, Any]:
        """What the process says about its request. It may say anything."""
        _, _, began, length = _FIELDS.unpack_from(self._memory, 0)
        content = self._memory[_FIELDS.size : _FIELDS.size + length].decode("utf-8", "replace")
        id_, parent, span, name = (*content.split(" ", 3), "", "", "", "")[:4]
        return describe(began, Trace(id_, parent, span, is_sampled=False), name) if id_ else {}

    def close(self) -> None:
        self._memory.close()


def describe(began: float, trace: Trace, name: str) -> dict[str, Any]:
    """A request as the host is told about it."""
    about = {"id": trace.id, "parent": trace.parent, "span": trace.span}
    return {"trace": about, "began": began, "name": name[:MAX_NAME]}
