"""A page of memory that a process shares with the host: since when it handles a request, and until when it
may. The host ends a process that is past its time, whatever the process does."""

import mmap
import struct
import time

SIZE = mmap.PAGESIZE
_FIELDS = struct.Struct("=qq")


class Activity:
    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def begin(self, seconds: float) -> None:
        now = time.monotonic_ns()
        _FIELDS.pack_into(self._memory, 0, now, now + int(seconds * 1e9))

    def end(self) -> None:
        _FIELDS.pack_into(self._memory, 0, 0, 0)

    def read(self) -> tuple[int, int]:
        """When the current request began and must end, in nanoseconds of the monotonic clock; zeros if there
        is none."""
        began, until = _FIELDS.unpack_from(self._memory, 0)
        return int(began), int(until)

    def close(self) -> None:
        self._memory.close()
