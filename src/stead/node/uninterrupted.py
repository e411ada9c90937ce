"""Runs work that must not be left half done: a caller that is cancelled meanwhile waits for its end first."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def run_uninterrupted(work: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """A thread cannot be stopped: if the caller did not wait, the thread would continue to write."""
    return await run_uninterrupted(asyncio.to_thread(work, *args, **kwargs))


async def run_in_pool(pool: Executor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same in threads of its own, for work that customers can make slow: nothing else waits for it."""
    loop = asyncio.get_running_loop()
    return await run_uninterrupted(loop.run_in_executor(pool, partial(work, *args, **kwargs)))
