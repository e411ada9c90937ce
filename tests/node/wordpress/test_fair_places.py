"""Copies of one tenant do not make other tenants wait."""

import asyncio
import os

from stead.node.databases.dumps import LOW_PRIORITY
from stead.node.processes import Processes, StreamName
from stead.node.wordpress.datasets import PER_TENANT, PLACES
from stead.node.wordpress.fair_places import FairPlaces


async def test_a_tenant_with_slow_copies_leaves_places_for_others() -> None:
    places, begun, end = FairPlaces(PLACES, PER_TENANT), list[str](), asyncio.Event()

    async def copy(tenant: str) -> None:
        async with places.take(tenant):
            begun.append(tenant)
            await end.wait()

    tenants = [*["busy"] * 5, *(f"other {number}" for number in range(PLACES))]
    tasks = [asyncio.create_task(copy(tenant)) for tenant in tenants]
    for _ in range(10):
        await asyncio.sleep(0)
    assert begun == ["busy", *(f"other {number}" for number in range(PLACES - 1))]
    # One that gives up while it waits keeps no place.
    tasks[1].cancel()
    end.set()
    await asyncio.wait(tasks, timeout=10)
    assert sorted(begun) == sorted(tenants[1:])


async def test_programs_that_copy_have_a_low_priority() -> None:
    said = bytearray()

    async def collect(_: StreamName, data: bytes) -> None:
        said.extend(data)

    run = Processes("priority-tests").run
    niceness = min(os.nice(0) + 10, 19)
    for program, expected in (("nice", b"%d" % niceness), ("ionice", b"idle")):
        said.clear()
        assert await run([*LOW_PRIORITY, program], collect) == 0
        assert said.strip() == expected
