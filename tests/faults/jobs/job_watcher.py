"""Waits for the end of jobs, with one query for all tests and tasks that wait at the same time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tests.faults.jobs.programs import POLL
from tests.patience import Patience

Sql = Callable[..., Awaitable[list[Any]]]

FINAL = ("succeeded", "failed")
LOOK_SECONDS = 0.5


@dataclass(eq=False)
class _Waiter:
    jobs: set[str]
    done: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class JobWatcher:
    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._waiters: set[_Waiter] = set()
        self._polling: asyncio.Task[None] | None = None

    async def wait(self, jobs: Collection[str], *, bound: float) -> set[str]:
        """Wait until these jobs have ended or the bound is reached; return those that have not ended."""
        waiter, patience = _Waiter(set(jobs)), Patience(bound)
        self._waiters.add(waiter)
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())
        try:
            while not waiter.done.done() and not patience.is_over:
                await asyncio.wait({waiter.done}, timeout=LOOK_SECONDS)
            if waiter.done.done():
                waiter.done.result()
            return waiter.jobs
        finally:
            self._waiters.discard(waiter)

    async def _poll(self) -> None:
        try:
            while self._waiters:
                began = time.monotonic()
                await self._look()
                await asyncio.sleep(max(POLL, time.monotonic() - began))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            for waiter in self._waiters:
                if not waiter.done.done():
                    waiter.done.set_exception(error)

    async def _look(self) -> None:
        watched = set().union(*(waiter.jobs for waiter in self._waiters))
        rows = await self._sql(
            "select id from jobs where id = any($1) and status = any($2)", list(watched), FINAL
        )
        ended = {job for (job,) in rows}
        for waiter in self._waiters:
            waiter.jobs -= ended
            if not waiter.jobs and not waiter.done.done():
                waiter.done.set_result(None)
