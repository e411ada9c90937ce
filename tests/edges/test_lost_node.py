"""A node that dies takes only its own sites along, and the other edge says so."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.edges.machine import Machine
from tests.edges.region import Region
from tests.faults.jobs.programs import until

Loss = Callable[[Machine], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def killed(machine: Machine) -> AsyncIterator[None]:
    """Its programs are gone; the machine says so to whoever connects."""
    await machine.kill()
    try:
        yield
    finally:
        machine.start()


@asynccontextmanager
async def unplugged(machine: Machine) -> AsyncIterator[None]:
    """Nobody answers at all."""
    await machine.namespace.unplug()
    try:
        yield
    finally:
        await machine.namespace.plug_in()


@pytest.mark.parametrize("lost", [killed, unplugged])
async def test_the_other_edge_serves_its_own_and_names_the_reason_for_the_rest(
    region: Region, lost: Loss
) -> None:
    dying, living = region.machines
    mine, theirs = [await region.publish(living) for _ in range(3)], await region.publish(dying)
    made = await region.site_on(dying)
    async with lost(dying):
        for site in mine:
            answer = await region.visit(living, site.host)
            assert (answer.status_code, answer.text) == (200, site.page)
        for site in (theirs, made):
            answer = await region.visit(living, site.host)
            assert answer.status_code in (502, 503)
            assert answer.headers["x-stead-reason"] == "node_unreachable"
            assert answer.headers["cache-control"] == "no-store"
            assert "cannot be reached" in answer.text

    async def back() -> bool:
        return (await region.visit(living, theirs.host)).text == theirs.page

    await until(back, "its sites are answered again")
    assert (await region.visit(living, made.host)).status_code == 200
    await region.heard(dying)
    await region.level()
