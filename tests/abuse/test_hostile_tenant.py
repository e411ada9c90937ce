"""One free account attacks everything that tenants share, all at once, while its neighbour works as usual."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stead.dev.running_stack import RunningStack
from tests.abuse.hostile_tenant.attacks import HostileTenant
from tests.abuse.hostile_tenant.footprint import Footprint, measure
from tests.abuse.hostile_tenant.neighbour import Neighbour, Record
from tests.abuse.hostile_tenant.person import Person
from tests.building_stack import building_stack
from tests.git_server import GitServer
from tests.journeys.visitor import Visitor

ATTACK_SECONDS = float(os.environ.get("STEAD_ATTACK_SECONDS", "60"))
"""`make hostile` attacks for five minutes."""
USUAL_SECONDS = 40.0
SLOWER = 3.0
MEMORY_GROWTH_MIB, DISK_GROWTH_MIB = 400, 1500
"""No program and no engine may grow by more than this during the attack."""
BUILDS_MIB = 2 * 2048
"""Two builds at once, each with the memory that a build may use."""
ROOT = Path(__file__).parents[2]

Outcomes = dict[str, dict[str, int]]
"""For each attack, how often it got which status and error code."""


@pytest.mark.timeout(1800)
async def test_a_hostile_free_account_does_not_disturb_its_neighbour() -> None:
    async with building_stack(STEAD_GIT_POLL_SECONDS="5") as building:
        await _attack(building.stack, building.git_server)


async def _attack(stack: RunningStack, git_server: GitServer) -> None:
    visitor = await Visitor.of(stack)
    neighbour = Neighbour(
        await Person.create(stack, "neighbour", "business"), visitor, git_server.create("neighbour.git")
    )
    await neighbour.move_in()
    async with neighbour.active() as usual:
        await asyncio.sleep(USUAL_SECONDS)  # the duration of the measurement, not a wait

    hostile = HostileTenant(
        await Person.create(stack, "hostile", "free"),
        git_server.create("hostile.git"),
        neighbour.person.email,
    )
    await hostile.move_in()
    before = measure(stack)
    async with attacking(hostile) as outcomes, neighbour.active() as attacked:
        await asyncio.sleep(ATTACK_SECONDS)  # the duration of the attack, not a wait
    after = measure(stack)

    print("\n" + _report(outcomes, usual, attacked, before, after))  # noqa: T201
    assert not usual.failures, usual.failures
    assert not attacked.failures, attacked.failures
    assert attacked.p50("deployment") <= SLOWER * usual.p50("deployment")
    assert attacked.percentile("deployment", 90) <= SLOWER * usual.worst("deployment")
    assert after.memory["builds"] <= BUILDS_MIB
    memory, disk = _growth(before.memory, after.memory), _growth(before.disk, after.disk)
    assert all(mib <= MEMORY_GROWTH_MIB for name, mib in memory.items() if name != "builds"), memory
    assert all(mib <= DISK_GROWTH_MIB for mib in disk.values()), disk


@asynccontextmanager
async def attacking(hostile: HostileTenant) -> AsyncIterator[Outcomes]:
    """Yields what the attacks got, which is known when the block has ended."""
    outcomes: Outcomes = {}
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.abuse.hostile_tenant.program"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert program.stdin is not None
    program.stdin.write(json.dumps(hostile.description).encode())
    program.stdin.close()
    try:
        yield outcomes
    finally:
        with contextlib.suppress(ProcessLookupError):
            program.terminate()
        output, _ = await asyncio.wait_for(program.communicate(), 60)
        outcomes.update(json.loads(output))


def _growth(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: mib - before.get(name, 0) for name, mib in after.items()}


def _report(outcomes: Outcomes, usual: Record, attacked: Record, before: Footprint, after: Footprint) -> str:
    lines = [f"Attacked for {ATTACK_SECONDS:g} s"]
    lines += [f"{attack}: {got}" for attack, got in outcomes.items()]
    lines += [
        f"neighbour's {activity}: {len(attacked.seconds[activity])} times,"
        f" p50 {usual.p50(activity):.3f} → {attacked.p50(activity):.3f} s,"
        f" p99 {usual.percentile(activity, 99):.3f} → {attacked.percentile(activity, 99):.3f} s"
        f" (ratio {attacked.percentile(activity, 99) / usual.percentile(activity, 99):.2f})"
        for activity in usual.seconds.keys() & attacked.seconds.keys()
    ]
    for what, old, new in (("memory", before.memory, after.memory), ("disk", before.disk, after.disk)):
        lines.append(
            f"{what} in MiB: " + ", ".join(f"{name} {old.get(name, 0)} → {new[name]}" for name in new)
        )
    return "\n  ".join(lines)
