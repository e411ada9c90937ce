"""Reliable cancellation of tasks that wait in a library.

`asyncio.wait_for` swallows a cancellation if the result arrives at the same moment, and so do client
libraries that use it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

_AGAIN_SECONDS = 1.0


def raise_if_cancelled() -> None:
    """Raises CancelledError if this task was cancelled, also if a library has swallowed it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def cancel_all(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks until all of them have ended, however they end."""
    pending = {task for task in tasks if task is not None}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_AGAIN_SECONDS)
