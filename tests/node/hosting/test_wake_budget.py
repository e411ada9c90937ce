"""A node lets only so many environments be awake, and no tenant keeps the others asleep."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from stead.node.containers.services import Services
from stead.node.hosting.environment import HostedEnvironment, NodeBusy
from stead.node.hosting.wake_budget import NOTHING, Needs, NoRoom, WakeBudget
from stead.node.images.image_store import ImageStore
from tests.node.hosting.conftest import ServerPlan, new_directory

LIMIT = Needs(memory_mb=400, connections=40)


@dataclass(eq=False)
class Room:
    """An environment that only takes up room."""

    budget: WakeBudget
    tenant: str = "acct_1"
    needs: Needs = field(default_factory=lambda: Needs(100, 10))
    quiet_seconds: float = 0.0
    awake_seconds: float = 100.0
    is_awake: bool = False

    async def wake(self) -> "Room":
        async with self.budget.admit(self):
            await asyncio.sleep(0)
            self.is_awake = True
        return self

    async def sleep(self) -> None:
        await asyncio.sleep(0)
        self.is_awake = False
        self.budget.release(self)


def _budget(limit: Needs = LIMIT, *, wait_seconds: float = 0.3, available: int = 10_000) -> WakeBudget:
    return WakeBudget(limit, wait_seconds=wait_seconds, available=lambda: available)


async def _fill(budget: WakeBudget, count: int = 4, **fields: Any) -> list[Room]:
    return [await Room(budget, **fields).wake() for _ in range(count)]


async def test_the_environment_that_was_idle_for_longest_makes_room() -> None:
    budget = _budget()
    rooms = await _fill(budget)
    rooms[1].quiet_seconds, rooms[2].quiet_seconds = 60.0, 600.0
    await Room(budget).wake()
    assert [room.is_awake for room in rooms] == [True, True, False, True]
    assert budget.used == LIMIT


async def test_without_an_idle_one_it_is_refused_within_a_bound_and_nobody_is_ended() -> None:
    budget = _budget()
    rooms = await _fill(budget)
    with pytest.raises(NoRoom):
        await Room(budget).wake()
    assert all(room.is_awake for room in rooms)
    assert budget.used == LIMIT


async def test_room_that_becomes_free_goes_to_whoever_waits() -> None:
    budget = _budget(wait_seconds=5.0)
    rooms = await _fill(budget)
    waiting = [asyncio.create_task(Room(budget).wake()) for _ in range(2)]
    await asyncio.sleep(0)
    await rooms[0].sleep()
    await rooms[1].sleep()
    assert all(room.is_awake for room in await asyncio.gather(*waiting))


async def test_a_tenant_with_many_busy_sites_does_not_keep_another_one_asleep() -> None:
    budget = _budget()
    greedy = await _fill(budget, tenant="acct_greedy")
    queue = [asyncio.create_task(Room(budget, "acct_greedy").wake()) for _ in range(50)]
    await asyncio.sleep(0)
    assert (await Room(budget, "acct_modest").wake()).is_awake
    assert sum(room.is_awake for room in greedy) == 3
    outcomes = await asyncio.gather(*queue, return_exceptions=True)
    assert all(isinstance(outcome, NoRoom) for outcome in outcomes), "it takes nothing from itself"


async def test_a_tenant_gets_no_more_than_its_share_from_busy_ones() -> None:
    budget = _budget()
    first = await _fill(budget, count=2, tenant="acct_a")
    second = await _fill(budget, count=2, tenant="acct_b")
    with pytest.raises(NoRoom):
        await Room(budget, "acct_a").wake()
    assert all(room.is_awake for room in (*first, *second))


async def test_database_connections_count_too() -> None:
    budget = _budget(Needs(memory_mb=10_000, connections=25))
    await _fill(budget, count=2)
    with pytest.raises(NoRoom):
        await Room(budget).wake()


async def test_nothing_wakes_while_the_machine_has_no_memory() -> None:
    budget = _budget(available=100)
    (only,) = await _fill(budget, count=1)
    with pytest.raises(NoRoom):
        await Room(budget).wake()
    only.quiet_seconds = 60.0
    assert (await Room(budget).wake()).is_awake
    assert not only.is_awake


async def test_three_hundred_environments_at_once_never_use_more_than_there_is() -> None:
    budget = _budget(wait_seconds=60.0)
    used: list[Needs] = []

    async def visit(room: Room) -> None:
        await room.wake()
        used.append(budget.used)

    rooms = [Room(budget, f"acct_{n % 7}", quiet_seconds=30.0) for n in range(300)]
    await asyncio.gather(*(visit(room) for room in rooms))
    assert len(used) == 300
    assert all(each.fits(LIMIT) for each in used)


async def test_a_cancelled_and_a_failed_start_give_their_room_back() -> None:
    budget = _budget()
    with pytest.raises(KeyError):
        async with budget.admit(Room(budget)):
            raise KeyError
    assert budget.used == NOTHING
    await _fill(budget)
    waiting = asyncio.create_task(Room(budget).wake())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert budget.used == LIMIT


async def test_containers_make_room_for_each_other_and_visitors_of_a_busy_node_may_come_back() -> None:
    now = time.monotonic
    later = 0.0
    budget = WakeBudget(Needs(memory_mb=100, connections=10), wait_seconds=0.5)
    async with _server(budget, lambda: now() + later) as (first, one), _server(budget) as (second, two):
        assert await first.get()
        assert await second.get() == "busy"
        with pytest.raises(NodeBusy):
            await two.wake()
        # From here on nothing has to be refused, and the first container takes its time to end.
        budget.wait_seconds = 30.0
        later = 100.0
        assert len(await second.get()) > len("busy")
        assert (one.state, two.state) == ("asleep", "awake")
        await two.restart()
        assert budget.used == Needs(100, 10)
    assert budget.used == NOTHING


@asynccontextmanager
async def _server(
    budget: WakeBudget, clock: Any = time.monotonic
) -> AsyncIterator[tuple[ServerPlan, HostedEnvironment]]:
    directory = new_directory()
    plan = ServerPlan(directory, ImageStore().find("static").root)
    hosted = HostedEnvironment(plan, Services(directory / "runc"), budget, clock)
    await hosted.open()
    try:
        yield plan, hosted
    finally:
        await hosted.remove()
        await hosted.close()
        shutil.rmtree(directory, ignore_errors=True)
