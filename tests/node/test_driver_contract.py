"""What every Runtime and every Edge must do, whatever stands behind it. A new driver joins them below."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from stead.dev.nginx import Nginx
from stead.dev.running import RunningStack, running
from stead.node.drivers.nginx import NginxEdge
from stead.node.drivers.ports import Assignment, Edge, Refusal, Runtime
from stead.node.drivers.sandbox import Pace, Sandbox, SandboxEdge, SandboxRuntime
from stead.node.drivers.static import StaticRuntime
from stead.node.processes import Processes, Stream
from stead.shared.ids import new_id


@dataclass
class Said:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, stream: Stream, data: bytes) -> None:
        self.lines.append(f"{stream}: {data.decode()}")


def task(environment: str = "", said: Said | None = None) -> Assignment:
    return Assignment(new_id("job"), new_id("site"), environment or new_id("env"), said or Said())


def host() -> str:
    return f"{new_id('h').replace('_', '-')}.example.com"


@dataclass(frozen=True)
class Node:
    """A runtime and the edge that shows its environments, in one data directory."""

    data: Path
    runtime: Runtime
    edge: Edge

    def tree(self, *, of: str = "") -> dict[str, str]:
        """Every file and link below the data directory whose path or content names `of`."""
        paths = (
            Path(folder) / name for folder, dirs, files in os.walk(self.data) for name in (*dirs, *files)
        )
        shown = {str(path.relative_to(self.data)): _content(path) for path in paths}
        return {path: content for path, content in shown.items() if of in path or of in content}

    async def unhealthy(self, it: Assignment, host: str) -> bool:
        with pytest.raises(Refusal) as refused:
            await self.edge.probe(it, host, "/")
        return refused.value.code == "deploy.unhealthy" and host in refused.value.reason


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_text(errors="replace") if path.is_file() else ""


def static(stack: RunningStack) -> Node:
    host, port = "127.0.0.1", stack.nginx.port
    data = stack.node_data
    data.mkdir(exist_ok=True, mode=0o711)
    data.chmod(0o711)
    return Node(data, StaticRuntime(data), NginxEdge(data, (host, port)))


def sandbox(stack: RunningStack) -> Node:
    data = stack.directory.path / "sandboxed"
    state = Sandbox(data, Processes("contract").run, Pace())
    return Node(data, SandboxRuntime(state), SandboxEdge(state))


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
        by_runtime.edge.ensure_route(it, [host()]),
        by_runtime.edge.remove_route(it),
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
    await by_edge.edge.ensure_route(it, [name])
    await by_edge.edge.probe(it, name, "/")
    await by_edge.edge.remove_route(it)
    assert await by_edge.unhealthy(it, name)


async def test_a_host_whose_environment_is_gone_is_unhealthy(by_edge: Node) -> None:
    it, name = task(), host()
    await by_edge.runtime.ensure_environment(it)
    await by_edge.edge.ensure_route(it, [name])
    await by_edge.runtime.remove_environment(it)
    assert await by_edge.unhealthy(it, name)


async def test_a_restarted_environment_still_answers(by_edge: Node) -> None:
    it, name = task(), host()
    await by_edge.runtime.ensure_environment(it)
    await by_edge.edge.ensure_route(it, [name])
    await by_edge.runtime.restart_environment(it)
    await by_edge.edge.probe(it, name, "/")


async def test_routes_are_exactly_those_asked_for(by_edge: Node) -> None:
    it, (one, two, three) = task(), (host(), host(), host())
    await by_edge.runtime.ensure_environment(it)
    await by_edge.edge.ensure_route(it, [one, two])
    await by_edge.edge.ensure_route(it, [two, three])
    assert await by_edge.unhealthy(it, one)
    for answered in (two, three):
        await by_edge.edge.probe(it, answered, "/")


async def test_ensuring_a_route_twice_or_at_the_same_time_is_ensuring_it_once(by_edge: Node) -> None:
    it, names = task(), [host(), host()]
    await by_edge.runtime.ensure_environment(it)
    await by_edge.edge.ensure_route(it, names)
    once = by_edge.tree()
    await by_edge.edge.ensure_route(it, list(reversed(names)))
    assert by_edge.tree() == once
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(by_edge.edge.ensure_route(it, names))
    assert by_edge.tree() == once


async def test_removing_a_route_leaves_nothing_of_it_and_is_fine_to_repeat(by_edge: Node) -> None:
    it = task()
    await by_edge.runtime.ensure_environment(it)
    before = by_edge.tree()
    await by_edge.edge.ensure_route(it, [host(), host()])
    await by_edge.edge.remove_route(it)
    await by_edge.edge.remove_route(it)
    assert by_edge.tree() == before


async def test_a_host_of_another_environment_is_refused_and_then_nothing_has_changed(by_edge: Node) -> None:
    owner, other, taken, free = task(), task(), host(), host()
    for it in (owner, other):
        await by_edge.runtime.ensure_environment(it)
    await by_edge.edge.ensure_route(owner, [taken])
    before = by_edge.tree()
    with pytest.raises(Refusal) as refused:
        await by_edge.edge.ensure_route(other, [free, taken])
    assert refused.value.code == "route.taken"
    assert by_edge.tree() == before
    await by_edge.edge.remove_route(other)
    await by_edge.edge.probe(owner, taken, "/")
    await by_edge.edge.remove_route(owner)
    await by_edge.edge.ensure_route(other, [free, taken])
    await by_edge.edge.probe(other, taken, "/")


async def test_of_two_environments_that_want_one_host_at_the_same_time_one_gets_it(by_edge: Node) -> None:
    wanting, name = [task() for _ in range(6)], host()
    for it in wanting:
        await by_edge.runtime.ensure_environment(it)
    asked = [by_edge.edge.ensure_route(it, [name]) for it in wanting]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in ended].count(type(None)) == 1
    assert all(each is None or (isinstance(each, Refusal) and each.code == "route.taken") for each in ended)


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
    for work in (by_edge.edge.ensure_route(it, [host(), name]), by_edge.edge.probe(it, name, "/")):
        with pytest.raises(Refusal) as refused:
            await work
        assert refused.value.code == "route.malformed"
    assert by_edge.tree() == before


async def test_what_a_driver_did_not_really_do_it_says(stack: RunningStack) -> None:
    simulated, nothing = Said(), Said()
    it = task(said=simulated)
    await sandbox(stack).runtime.ensure_environment(it)
    assert simulated.lines == [f"sandbox: simulated ensure_environment of {it.environment}"]
    it = task()
    await static(stack).runtime.ensure_environment(it)
    await static(stack).runtime.restart_environment(task(it.environment, nothing))
    assert "nothing to restart" in nothing.lines[0]


async def test_the_placeholder_is_a_page_that_needs_nothing_else(stack: RunningStack) -> None:
    node, it, name = static(stack), task(), host()
    await node.runtime.ensure_environment(it)
    await node.edge.ensure_route(it, [name])
    async with httpx.AsyncClient() as client:
        page = await client.get(f"http://{stack.nginx.address}/", headers={"host": name})
        assert page.status_code == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "is ready for its first deployment" in page.text
        assert "http://" not in page.text.replace("https", "http")
        assert (
            await client.get(f"http://{stack.nginx.address}/no", headers={"host": name})
        ).status_code == 404


async def test_what_was_deployed_is_kept_when_the_environment_is_ensured_again(stack: RunningStack) -> None:
    node, it = static(stack), task()
    await node.runtime.ensure_environment(it)
    index = node.data / "environments" / it.environment / "current" / "index.html"
    index.chmod(0o644)
    index.write_text("deployed")
    await node.runtime.ensure_environment(it)
    await node.runtime.restart_environment(it)
    assert index.read_text() == "deployed"


@pytest.mark.parametrize("asked", ["../environments", "..", "hosts/..", "."])
async def test_nginx_serves_no_path_that_a_host_header_smuggles_in(stack: RunningStack, asked: str) -> None:
    node, it = static(stack), task()
    await node.runtime.ensure_environment(it)
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{stack.nginx.address}/", headers={"host": asked})
    assert answer.status_code in {400, 403, 404}


async def test_a_link_out_of_a_release_is_not_served(stack: RunningStack) -> None:
    node, it, name = static(stack), task(), host()
    await node.runtime.ensure_environment(it)
    await node.edge.ensure_route(it, [name])
    (node.data / "environments" / it.environment / "current" / "leak").symlink_to("/etc/hostname")
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{stack.nginx.address}/leak", headers={"host": name})
    assert answer.status_code == 403
    with pytest.raises(Refusal, match="403"):
        await node.edge.probe(it, name, "/leak")


async def test_an_edge_that_is_down_makes_a_probe_fail_and_one_that_comes_back_does_not(
    scratch: Path,
) -> None:
    async with running(scratch, [Nginx]) as stack:
        node, it, name = static(stack), task(), host()
        await node.runtime.ensure_environment(it)
        await node.edge.ensure_route(it, [name])
        await stack.stop(Nginx)
        probing = asyncio.create_task(node.edge.probe(it, name, "/"))
        await asyncio.sleep(0.5)
        await stack.start(Nginx)
        await probing
        await stack.stop(Nginx)
        with pytest.raises(Refusal, match="cannot be reached"):
            await node.edge.probe(it, name, "/")
