"""Writes to a program in a thread of its own."""

import os
from collections import deque
from threading import Condition, Thread
from types import TracebackType
from typing import Self

MAX_WAITING_BYTES = 16 << 20
"""More than some statements of most dumps. A pipe of that size is allowed to few programs."""
_BLOCK_BYTES = 1 << 20


class PipeWriter:
    """What is written next is made ready while the program works on what it has. At most `MAX_WAITING_BYTES`
    wait for it, and one piece more. Used by one thread. Closes the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._changed = Condition()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes, self._has_ended, self._is_broken = 0, False, False
        self._block = bytearray()
        self._thread = Thread(target=self._run, name="pipe")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the rest. Raises BrokenPipeError if the program has ended before."""
        self._pass_on()
        with self._changed:
            self._has_ended = True
            self._changed.notify()
        self._thread.join()
        os.close(self._descriptor)
        if self._is_broken and error is None:
            raise BrokenPipeError

    def write(self, piece: bytes) -> None:
        """Blocks while too much waits. Raises BrokenPipeError if the program has ended."""
        self._block += piece
        if len(self._block) < _BLOCK_BYTES:
            return
        self._pass_on()
        if self._is_broken:
            raise BrokenPipeError

    def _pass_on(self) -> None:
        block, self._block = bytes(self._block), bytearray()
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_bytes < MAX_WAITING_BYTES or self._is_broken)
            self._waiting.append(block)
            self._waiting_bytes += len(block)
            self._changed.notify()

    def _run(self) -> None:
        while (block := self._take()) is not None:
            try:
                _write_all(self._descriptor, block)
            except OSError:
                with self._changed:
                    self._is_broken = True
                    self._changed.notify()
                return
            with self._changed:
                self._waiting_bytes -= len(block)
                self._changed.notify()

    def _take(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._has_ended)
            return self._waiting.popleft() if self._waiting else None


def _write_all(descriptor: int, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
