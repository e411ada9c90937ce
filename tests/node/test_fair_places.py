"""Slow work of one tenant does not make other tenants wait."""

import asyncio

import pytest

from stead.node import fair_places
from stead.node.fair_places import FairPlaces
from tests.patience import time_limit

IN_ALL, PER_TENANT = 3, 1


class Work:
    """Work that takes a place and keeps it until it may end."""

    def __init__(self, places: FairPlaces) -> None:
        self._places, self._ends = places, list[asyncio.Event]()
        self.begun: list[str] = []

    def start(self, *tenants: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._take(tenant)) for tenant in tenants]

    async def end_oldest(self) -> None:
        self._ends.pop(0).set()
        await let_tasks_run()

    async def _take(self, tenant: str) -> None:
        async with self._places.take(tenant):
            self.begun.append(tenant)
            self._ends.append(end := asyncio.Event())
            await end.wait()


async def let_tasks_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_tenant_with_much_work_leaves_places_for_others() -> None:
    work = Work(FairPlaces(IN_ALL, PER_TENANT))
    others = [f"other {number}" for number in range(IN_ALL)]
    tasks = work.start(*["busy"] * 5, *others)
    await let_tasks_run()
    assert work.begun == ["busy", *others[: IN_ALL - 1]]
    # One that gives up while it waits keeps no place.
    tasks[1].cancel()
    async with time_limit(10):
        while len(work.begun) < len(tasks) - 1:
            await work.end_oldest()
    assert sorted(work.begun) == sorted(["busy"] * 4 + others)


async def test_a_newcomer_gets_the_next_place_however_much_ten_others_have_queued() -> None:
    work = Work(FairPlaces(2, PER_TENANT))
    busy = [f"busy {number}" for number in range(10)]
    tasks = work.start(*busy * 3)
    for _ in busy:
        await let_tasks_run()
        await work.end_oldest()
    before = len(work.begun)
    tasks += work.start("newcomer")
    await let_tasks_run()
    await work.end_oldest()
    assert work.begun[before:] == ["newcomer"]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_tenants_with_much_work_take_turns() -> None:
    work = Work(FairPlaces(1, PER_TENANT))
    tasks = work.start("a", "a", "a", "b", "b", "c")
    await let_tasks_run()
    for _ in tasks:
        await work.end_oldest()
    assert work.begun == ["a", "b", "c", "a", "b", "a"]


async def test_all_places_are_free_again_whenever_work_is_cancelled() -> None:
    places = FairPlaces(2, PER_TENANT)
    work = Work(places)
    for steps in range(8):
        tasks = work.start(*"aabbccdd")
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.sleep(0)
        for task in tasks[1::2]:
            task.cancel()
        await asyncio.wait(tasks)
        begun = len(work.begun)
        tasks = work.start("x", "y", "z")
        await let_tasks_run()
        assert work.begun[begun:] == ["x", "y"]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_place_that_is_granted_to_work_that_is_cancelled_at_the_same_moment_is_free() -> None:
    work = Work(FairPlaces(1, PER_TENANT))
    first, second = work.start("a", "b")
    await let_tasks_run()
    # "b" is granted the place of "a" when "a" ends, and is cancelled before it runs again.
    first.cancel()
    await asyncio.sleep(0)
    second.cancel()
    (third,) = work.start("c")
    await let_tasks_run()
    assert work.begun == ["a", "c"]
    third.cancel()
    await asyncio.wait({first, second, third})


async def test_what_is_known_about_tenants_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_places, "REMEMBERED", 5)
    places = FairPlaces(2, PER_TENANT)
    for number in range(20):
        async with places.take(f"tenant {number}"):
            pass
    assert list(places._last_turns) == [f"tenant {number}" for number in range(15, 20)]
    assert len(places._own) <= 1
