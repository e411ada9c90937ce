"""Room in the memory of a node for a program beside a site, in a container of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from stead.node.drivers.driver import Refusal
from stead.node.hosting.wake_budget import Needs, NoRoom, WakeBudget
from stead.node.wordpress.plan import WordPressPlan


@dataclass(eq=False)
class _RunningCommand:
    """A command, as the budget of the node sees it. It does not make room for others before it ends."""

    tenant: str
    needs: Needs
    quiet_seconds = awake_seconds = 0.0

    async def sleep(self) -> None:
        """Not called: a command is never quiet, and counts as one that has just begun."""


@asynccontextmanager
async def take_room(budget: WakeBudget, plan: WordPressPlan) -> AsyncIterator[None]:
    """Wait for room, as a site that wakes does. Raises Refusal if there is none in time."""
    running = _RunningCommand(plan.tenant, plan.needs)
    try:
        async with budget.admit(running):
            pass
    except NoRoom:
        raise Refusal("node.unavailable", "the node has no room for another command now") from None
    try:
        yield
    finally:
        budget.release(running)
