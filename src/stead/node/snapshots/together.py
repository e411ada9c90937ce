"""Runs work at the same time, so that none of it is left when one fails."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_together(*work: Coroutine[Any, Any, Any]) -> None:
    """Return when all is done. When one fails, the others are cancelled, and when all have ended, the failure
    is raised: that of the earlier argument, if there are several."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    for task in tasks:
        task.result()
