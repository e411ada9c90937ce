"""Deployments of a tenant do not make those of others wait, and do not fill the disk."""

import asyncio
from pathlib import Path

import pytest

from stead.node.functions import disk_share, places
from stead.node.functions.driver import AT_ONCE, KEPT_VERSIONS
from stead.shared.ids import new_id
from tests.node.functions.deployments import Deployments, deployments
from tests.node.harness import until
from tests.patience import time_limit


class Compiler:
    """Works until it may end."""

    def __init__(self) -> None:
        self.running, self.most, self.begun, self.may_end = 0, 0, list[str](), asyncio.Event()

    async def compile(self, version: str) -> None:
        self.begun.append(version)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.may_end.wait()
        finally:
            self.running -= 1

    async def wait_for(self, count: int) -> None:
        async def begun() -> bool | None:
            return len(self.begun) == count or None

        await until(begun)


async def test_two_sites_of_a_tenant_never_compile_together(tmp_path: Path) -> None:
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        of_tenant = [node.deploy(f"site_{number}", "busy") for number in range(4)]
        await compiler.wait_for(1)
        other = node.deploy("site_other", "other", version=(version := new_id("fnv")))
        await compiler.wait_for(2)
        assert compiler.begun[1] == version
        await asyncio.sleep(0.1)
        assert compiler.running == 2
        compiler.may_end.set()
        async with time_limit(20):
            await asyncio.gather(*of_tenant, other)
        assert len(compiler.begun) == 5


async def test_a_site_whose_tenant_is_unknown_has_a_share_of_its_own(tmp_path: Path) -> None:
    """A control plane of an earlier version does not tell."""
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        tasks = [node.deploy(site) for site in ("site_a", "site_b")]
        await compiler.wait_for(AT_ONCE)
        compiler.may_end.set()
        async with time_limit(20):
            await asyncio.gather(*tasks)


async def test_a_tenant_that_comes_first_waits_for_one_deployment_and_not_for_all(tmp_path: Path) -> None:
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        attackers = [f"attacker_{number}" for number in range(10)]
        first = [node.deploy(f"site_{tenant}", tenant) for tenant in attackers[:AT_ONCE]]
        await compiler.wait_for(AT_ONCE)
        compiler.may_end.set()
        async with time_limit(20):
            await asyncio.gather(*first)
        # They come again with all the others.
        compiler.may_end.clear()
        blocking = [node.deploy(f"site_again_{tenant}", tenant) for tenant in ("x", "y")]
        await compiler.wait_for(2 * AT_ONCE)
        again = [node.deploy(f"site_{tenant}", tenant) for tenant in attackers[:AT_ONCE]]
        await asyncio.sleep(0.05)
        newcomer = node.deploy("site_new", "newcomer", version=(version := new_id("fnv")))
        await asyncio.sleep(0.05)
        blocking[0].cancel()
        await compiler.wait_for(2 * AT_ONCE + 1)
        assert compiler.begun[-1] == version
        compiler.may_end.set()
        async with time_limit(20):
            await asyncio.gather(*again, newcomer, blocking[1])


async def test_a_compiled_version_is_started_while_all_places_are_taken(tmp_path: Path) -> None:
    """As when visitors are switched to it, or back to the one from before."""
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        function, version = new_id("fn"), new_id("fnv")
        compiler.may_end.set()
        async with time_limit(20):
            await node.deploy("site_a", "a", function=function, version=version)
        compiler.may_end.clear()
        blocking = [node.deploy(f"site_{tenant}", tenant) for tenant in ("a2", "b", "c", "d")]
        await compiler.wait_for(1 + AT_ONCE)
        async with time_limit(20):
            await node.deploy("site_a", "a", function=function, version=version, active=True)
        assert node.table.specs()[version].active
        await _cancel(*blocking)


async def test_a_deployment_that_is_cancelled_gives_its_place_back(tmp_path: Path) -> None:
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        for number in range(3):
            task = node.deploy("site_a", "a")
            await compiler.wait_for(number + 1)
            await _cancel(task)
        others = [node.deploy(f"site_{tenant}", tenant) for tenant in ("b", "c")]
        await compiler.wait_for(5)
        assert compiler.most == AT_ONCE
        await _cancel(*others)


async def test_cancelled_deployments_do_not_fill_the_disk_and_leave_what_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_share, "MAX_BYTES_OF_SITE", limit := 10_000)
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        node.bytes_compiled = 1000
        compiler.may_end.set()
        served = [new_id("fnv"), new_id("fnv")]
        functions = [new_id("fn"), new_id("fn")]
        async with time_limit(20):
            for function, version in zip(functions, served, strict=True):
                await node.deploy("site_a", "a", function=function, version=version, active=True)
        compiler.may_end.clear()
        for number in range(24):
            # Every second one is the first version of a new function.
            task = node.deploy("site_a", "a", function=functions[0] if number % 2 else new_id("fn"))
            await compiler.wait_for(3 + number)
            await _cancel(task)
            assert set(served) <= node.compiled()
        assert _measure(node) <= limit + node.bytes_compiled
        assert set(node.table.specs()) == node.compiled()


async def test_cancelled_versions_of_a_function_do_not_collect(tmp_path: Path) -> None:
    """The host would listen for each of them, and compile each again after the loss of its files."""
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        function, served = new_id("fn"), new_id("fnv")
        compiler.may_end.set()
        async with time_limit(20):
            await node.deploy("site_a", "a", function=function, version=served, active=True)
        compiler.may_end.clear()
        for number in range(3 * KEPT_VERSIONS):
            task = node.deploy("site_a", "a", function=function)
            await compiler.wait_for(2 + number)
            await _cancel(task)
        specs = node.table.specs()
        assert len(specs) <= KEPT_VERSIONS + 2
        assert specs[served].active


async def test_the_version_that_was_just_replaced_goes_last_however_many_were_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges may still send requests to it."""
    monkeypatch.setattr(disk_share, "MAX_BYTES_OF_SITE", 3500)
    compiler = Compiler()
    async with deployments(tmp_path, compiler.compile) as node:
        node.bytes_compiled = 1000
        function, served, new = new_id("fn"), new_id("fnv"), new_id("fnv")
        compiler.may_end.set()
        async with time_limit(20):
            await node.deploy("site_a", "a", function=function, version=served, active=True)
        compiler.may_end.clear()
        for number in range(2):
            task = node.deploy("site_a", "a", function=function)
            await compiler.wait_for(2 + number)
            await _cancel(task)
        compiler.may_end.set()
        async with time_limit(20):
            await node.deploy("site_a", "a", function=function, version=new, active=True)
        assert len(node.compiled()) == 3
        assert {served, new} <= node.compiled()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _measure(node: Deployments) -> int:
    return sum(file.stat().st_size for file in (places.home(node.data) / "compiled").iterdir())
