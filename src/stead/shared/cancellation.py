"""What a loop around a library's waiting needs to end when it is told to."""

import asyncio


def heed_cancellation() -> None:
    """Raises if this task was cancelled. `asyncio.wait_for` forgets that when its result arrives at the same
    moment, and a client library that uses it hands us the result as if nothing had been said."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
