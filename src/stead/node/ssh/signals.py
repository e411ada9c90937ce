"""Signals of clients for their programs, not faster than the node can deliver them."""

import asyncio
from collections.abc import Awaitable, Callable

SIGNALS = frozenset(("ALRM", "HUP", "INT", "KILL", "QUIT", "TERM", "USR1", "USR2"))
SECONDS = 0.1
"""Between two signals for a program."""


class PacedSignals:
    """Those of one program. While one waits, others are dropped; only KILL takes its place."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        self._waiting = ""
        self._task: asyncio.Task[None] | None = None

    def add(self, name: str) -> None:
        if name not in SIGNALS:
            return
        if not self._waiting or name == "KILL":
            self._waiting = name
        if self._task is None:
            self._task = asyncio.create_task(self._send_all())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _send_all(self) -> None:
        try:
            while name := self._waiting:
                self._waiting = ""
                await self._send(name)
                await asyncio.sleep(SECONDS)
        finally:
            self._task = None
