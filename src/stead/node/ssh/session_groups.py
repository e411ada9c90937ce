"""One control group for all programs of an environment, with the limits of its plan: eight of them do not get
eight times as much."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stead.node.containers import cgroups
from stead.node.uninterrupted import run_in_thread, run_uninterrupted
from stead.node.wordpress.plan import WordPressPlan


class SessionGroups:
    def __init__(self) -> None:
        self._users: Counter[str] = Counter()
        self._changing = asyncio.Lock()

    @asynccontextmanager
    async def enter(self, plan: WordPressPlan) -> AsyncIterator[str]:
        """The name of the group. Whoever leaves it last removes it."""
        group = f"/{plan.container.name}-sessions"
        async with self._changing:
            self._users[group] += 1
            try:
                await run_in_thread(cgroups.make, group, plan.desired.spec.limits)
            except BaseException:
                self._users[group] -= 1
                raise
        try:
            yield group
        finally:
            await run_uninterrupted(self._leave(group))

    async def _leave(self, group: str) -> None:
        async with self._changing:
            self._users[group] -= 1
            if not self._users[group]:
                del self._users[group]
                await run_in_thread(cgroups.remove_empty, group)
