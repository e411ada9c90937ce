"""No environment and no node takes all places of a worker that answers questions for state."""

import asyncio
from contextlib import AsyncExitStack

from stead.control.functions.state_turns import AT_ONCE_OF_ENVIRONMENT, AT_ONCE_OF_NODE, MOST_WAITING, Turns
from stead.shared.cancellation import cancel_all
from tests.patience import time_limit


async def _ask(turns: Turns, node: str, environment: str, taken: list[str], ended: asyncio.Event) -> None:
    async with turns.take(node, environment):
        taken.append(environment)
        await ended.wait()


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_an_environment_and_a_node_have_a_limited_number_of_places() -> None:
    turns, taken, ended = Turns(), list[str](), asyncio.Event()
    asking = [asyncio.create_task(_ask(turns, "node-1", "env_a", taken, ended)) for _ in range(20)]
    await _settle()
    assert taken == ["env_a"] * AT_ONCE_OF_ENVIRONMENT
    asking += [
        asyncio.create_task(_ask(turns, "node-1", f"env_{number}", taken, ended)) for number in range(60)
    ]
    await _settle()
    assert len(taken) == AT_ONCE_OF_NODE
    async with time_limit(10), turns.take("node-2", "env_a"):
        # Another node has places of its own, also for the same name.
        pass
    ended.set()
    await asyncio.gather(*asking)
    assert len(taken) == 80
    assert (turns._nodes, turns._environments) == ({}, {})


async def test_questions_of_a_node_beyond_its_limit_are_dropped() -> None:
    turns, ended = Turns(), asyncio.Event()
    async with AsyncExitStack() as stack:
        asking = [
            asyncio.create_task(_ask(turns, "node-1", f"env_{number}", [], ended))
            for number in range(MOST_WAITING)
        ]
        stack.push_async_callback(cancel_all, asking)
        await _settle()
        assert not turns.has_room("node-1")
        assert turns.has_room("node-2")
    assert turns.has_room("node-1")
