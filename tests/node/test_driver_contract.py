"""What every Runtime and every Edge must do, whatever stands behind it. A new driver joins them below."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stead.dev.nginx import Nginx
from stead.dev.running import RunningStack, running
from stead.node.drivers.ports import Assignment, Refusal
from tests.node.carrying import Node, Said, Sandboxed, host, sandbox, static, task

RUNTIMES: dict[str, Callable[[RunningStack], Node]] = {"static": static, "sandbox": sandbox}
EDGES: dict[str, Callable[[RunningStack], Node]] = {"nginx": static, "sandbox": sandbox}


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    async with running(shared_scratch, [Nginx]) as stack:
        yield stack


@pytest.fixture(params=RUNTIMES)
def by_runtime(request: pytest.FixtureRequest, stack: RunningStack) -> Node:
    return RUNTIMES[request.param](stack)


@pytest.fixture(params=EDGES)
def by_edge(request: pytest.FixtureRequest, stack: RunningStack) -> Node:
    return EDGES[request.param](stack)


@pytest.fixture
def routes(stack: RunningStack) -> Sandboxed:
    """Simulated, where no edge hears of them by itself."""
    return sandbox(stack)


async def test_ensuring_an_environment_twice_is_ensuring_it_once(by_runtime: Node) -> None:
    it = task()
    await by_runtime.runtime.ensure_environment(it)
    once = by_runtime.tree(of=it.environment)
    assert once
    assert it.environment in await by_runtime.runtime.inventory()
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == once


async def test_removing_an_environment_leaves_nothing_of_it_and_nothing_else_changes(
    by_runtime: Node,
) -> None:
    before, it = by_runtime.tree(), task()
    await by_runtime.runtime.ensure_environment(it)
    await by_runtime.runtime.remove_environment(it)
    assert by_runtime.tree() == before
    assert it.environment not in await by_runtime.runtime.inventory()


async def test_removing_an_environment_that_is_not_there_is_fine(by_runtime: Node) -> None:
    before, it = by_runtime.tree(), task()
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.remove_environment(it)
    assert by_runtime.tree() == before


async def test_a_removed_environment_can_be_ensured_again(by_runtime: Node) -> None:
    it = task()
    await by_runtime.runtime.ensure_environment(it)
    first = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == first


async def test_a_restart_keeps_the_content(by_runtime: Node) -> None:
    it = task()
    await by_runtime.runtime.ensure_environment(it)
    before = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.restart_environment(it)
    assert by_runtime.tree(of=it.environment) == before


async def test_a_restart_of_what_is_not_there_is_refused(by_runtime: Node) -> None:
    with pytest.raises(Refusal) as refused:
        await by_runtime.runtime.restart_environment(task())
    assert refused.value.code == "environment.not_found"


async def test_ensuring_the_same_environment_at_the_same_time_is_ensuring_it_once(by_runtime: Node) -> None:
    it = task()
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(by_runtime.runtime.ensure_environment(it))
    at_once = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == at_once


@pytest.mark.parametrize(
    "environment", ["", ".", "..", "../escaped", "a/b", "/etc", "a\0b", ".hidden", "a.b", "é", "x" * 65]
)
async def test_an_environment_id_is_never_a_path(by_runtime: Node, environment: str) -> None:
    parent = sorted(by_runtime.data.parent.iterdir())
    before, it = by_runtime.tree(), Assignment("job", "site", environment, Said())
    for work in (
        by_runtime.runtime.ensure_environment(it),
        by_runtime.runtime.remove_environment(it),
        by_runtime.runtime.restart_environment(it),
    ):
        with pytest.raises(Refusal) as refused:
            await work
        assert refused.value.code == "environment.malformed"
    assert by_runtime.tree() == before
    assert sorted(by_runtime.data.parent.iterdir()) == parent


async def test_a_probe_tells_the_truth(by_edge: Node) -> None:
    it, name = task(), host()
    assert await by_edge.unhealthy(it, name)
    await by_edge.runtime.ensure_environment(it)
    assert await by_edge.unhealthy(it, name)
    await by_edge.announce(it, [name])
    await by_edge.answers(it, name)
    await by_edge.announce(it, [])
    assert await by_edge.unhealthy(it, name)


async def test_a_host_whose_simulated_environment_is_gone_is_unhealthy(routes: Sandboxed) -> None:
    it, name = task(), host()
    await routes.runtime.ensure_environment(it)
    await routes.announce(it, [name])
    await routes.runtime.remove_environment(it)
    assert await routes.unhealthy(it, name)


async def test_a_restarted_environment_still_answers(by_edge: Node) -> None:
    it, name = task(), host()
    await by_edge.runtime.ensure_environment(it)
    await by_edge.announce(it, [name])
    await by_edge.runtime.restart_environment(it)
    await by_edge.answers(it, name)


async def test_routes_are_exactly_those_asked_for(by_edge: Node) -> None:
    it, (one, two, three) = task(), (host(), host(), host())
    await by_edge.runtime.ensure_environment(it)
    await by_edge.announce(it, [one, two])
    await by_edge.announce(it, [two, three])
    assert await by_edge.unhealthy(it, one)
    for answered in (two, three):
        await by_edge.answers(it, answered)


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\0", "a..b", "a.", "-a.example", "a_b"),
        *("UPPER.example", "é.example", "a b", "a.example\r\nX: y", "x" * 64, ".".join(["x" * 60] * 5)),
    ],
)
async def test_a_host_is_never_a_path_or_a_header(by_edge: Node, name: str) -> None:
    it = task()
    await by_edge.runtime.ensure_environment(it)
    before = by_edge.tree()
    with pytest.raises(Refusal) as refused:
        await by_edge.answers(it, name)
    assert refused.value.code == "route.malformed"
    assert by_edge.tree() == before


async def test_ensuring_a_route_twice_or_at_the_same_time_is_ensuring_it_once(routes: Sandboxed) -> None:
    it, names = task(), [host(), host()]
    await routes.runtime.ensure_environment(it)
    await routes.edge.ensure_route(it, names)
    once = routes.tree()
    await routes.edge.ensure_route(it, list(reversed(names)))
    assert routes.tree() == once
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(routes.edge.ensure_route(it, names))
    assert routes.tree() == once


async def test_removing_a_route_leaves_nothing_of_it_and_is_fine_to_repeat(routes: Sandboxed) -> None:
    it = task()
    await routes.runtime.ensure_environment(it)
    before = routes.tree()
    await routes.edge.ensure_route(it, [host(), host()])
    await routes.edge.remove_route(it)
    await routes.edge.remove_route(it)
    assert routes.tree() == before


async def test_a_host_of_another_environment_is_refused_and_then_nothing_has_changed(
    routes: Sandboxed,
) -> None:
    owner, other, taken, free = task(), task(), host(), host()
    for it in (owner, other):
        await routes.runtime.ensure_environment(it)
    await routes.edge.ensure_route(owner, [taken])
    before = routes.tree()
    with pytest.raises(Refusal) as refused:
        await routes.edge.ensure_route(other, [free, taken])
    assert refused.value.code == "route.taken"
    assert routes.tree() == before
    await routes.edge.remove_route(other)
    await routes.answers(owner, taken)
    await routes.edge.remove_route(owner)
    await routes.edge.ensure_route(other, [free, taken])
    await routes.answers(other, taken)


async def test_of_two_environments_that_want_one_host_at_the_same_time_one_gets_it(routes: Sandboxed) -> None:
    wanting, name = [task() for _ in range(6)], host()
    for it in wanting:
        await routes.runtime.ensure_environment(it)
    asked = [routes.edge.ensure_route(it, [name]) for it in wanting]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in ended].count(type(None)) == 1
    assert all(each is None or (isinstance(each, Refusal) and each.code == "route.taken") for each in ended)


async def test_what_a_driver_did_not_really_do_it_says(stack: RunningStack) -> None:
    simulated, nothing = Said(), Said()
    it = task(said=simulated)
    await sandbox(stack).runtime.ensure_environment(it)
    assert simulated.lines == [f"sandbox: simulated ensure_environment of {it.environment}"]
    it = task()
    await static(stack).runtime.ensure_environment(it)
    await static(stack).runtime.restart_environment(task(it.environment, nothing))
    assert "nothing to restart" in nothing.lines[0]
