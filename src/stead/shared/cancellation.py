"""Reliable cancellation of loops that wait in a library."""

import asyncio


def raise_if_cancelled() -> None:
    """Raises CancelledError if this task was cancelled. `asyncio.wait_for` swallows a cancellation if the
    result arrives at the same moment, and so do client libraries that use it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
