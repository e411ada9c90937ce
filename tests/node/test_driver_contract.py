"""The contract of every runtime driver and every edge driver. A new driver is added to the lists below."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from stead.dev.engines.nginx import Nginx
from stead.dev.running_stack import RunningStack, run_stack
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.transfer import TransferFailed
from stead.protocol.work.hosting import Probe, RemoveRoute
from stead.protocol.work.releases import EnsureRelease, release_of
from stead.shared.ids import new_id
from tests.node.driver_pairs import (
    CapturedOutput,
    DriverPair,
    SimulatedPair,
    live_drivers,
    new_assignment,
    new_host,
    simulated_drivers,
)
from tests.node.harness import until
from tests.node.layer_server import LayerServer, public_bytes, serve_layers, sign_provenance

RUNTIMES: dict[str, Callable[[RunningStack], DriverPair]] = {
    "static": live_drivers,
    "simulator": simulated_drivers,
}
EDGES: dict[str, Callable[[RunningStack], DriverPair]] = {
    "nginx": live_drivers,
    "simulator": simulated_drivers,
}


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    async with run_stack(shared_scratch, [Nginx]) as stack:
        yield stack


@pytest.fixture(params=RUNTIMES)
def by_runtime(request: pytest.FixtureRequest, stack: RunningStack) -> DriverPair:
    return RUNTIMES[request.param](stack)


@pytest.fixture(params=EDGES)
def by_edge(request: pytest.FixtureRequest, stack: RunningStack) -> DriverPair:
    return EDGES[request.param](stack)


@pytest.fixture
def routes(stack: RunningStack) -> SimulatedPair:
    """Simulated routes: only the simulator has work for routes."""
    return simulated_drivers(stack)


async def test_ensuring_an_environment_is_idempotent(by_runtime: DriverPair) -> None:
    it = new_assignment()
    await by_runtime.runtime.ensure_environment(it)
    once = by_runtime.tree(of=it.environment)
    assert once
    assert it.environment in await by_runtime.runtime.list_environments()
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == once


async def test_removing_an_environment_removes_everything_of_it_and_nothing_else(
    by_runtime: DriverPair,
) -> None:
    before, it = by_runtime.tree(), new_assignment()
    await by_runtime.runtime.ensure_environment(it)
    await by_runtime.runtime.remove_environment(it)
    assert by_runtime.tree() == before
    assert it.environment not in await by_runtime.runtime.list_environments()


async def test_removing_a_missing_environment_succeeds(by_runtime: DriverPair) -> None:
    before, it = by_runtime.tree(), new_assignment()
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.remove_environment(it)
    assert by_runtime.tree() == before


async def test_a_removed_environment_can_be_ensured_again(by_runtime: DriverPair) -> None:
    it = new_assignment()
    await by_runtime.runtime.ensure_environment(it)
    first = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == first


async def test_a_restart_keeps_the_content(by_runtime: DriverPair) -> None:
    it = new_assignment()
    await by_runtime.runtime.ensure_environment(it)
    before = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.restart_environment(it)
    assert by_runtime.tree(of=it.environment) == before


async def test_restarting_a_missing_environment_is_refused(by_runtime: DriverPair) -> None:
    with pytest.raises(Refusal) as refused:
        await by_runtime.runtime.restart_environment(new_assignment())
    assert refused.value.code == "environment.not_found"


async def test_a_suspension_keeps_the_content_and_needs_none(by_runtime: DriverPair) -> None:
    it = new_assignment()
    await by_runtime.runtime.suspend_environment(it)
    await by_runtime.runtime.ensure_environment(it)
    before = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.suspend_environment(it)
    await by_runtime.runtime.suspend_environment(it)
    assert by_runtime.tree(of=it.environment) == before


async def test_ensuring_an_environment_concurrently_is_safe(
    by_runtime: DriverPair,
) -> None:
    it = new_assignment()
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(by_runtime.runtime.ensure_environment(it))
    at_once = by_runtime.tree(of=it.environment)
    await by_runtime.runtime.remove_environment(it)
    await by_runtime.runtime.ensure_environment(it)
    assert by_runtime.tree(of=it.environment) == at_once


@pytest.fixture(scope="module")
def store() -> Iterator[LayerServer]:
    with serve_layers() as it:
        yield it


async def _carried(node: DriverPair) -> Assignment:
    it = new_assignment()
    await node.runtime.ensure_environment(it)
    return it


async def test_ensuring_a_release_is_idempotent(by_runtime: DriverPair, store: LayerServer) -> None:
    it, wanted = await _carried(by_runtime), store.offer({"index.html": f"once {new_id('x')}"})
    await by_runtime.runtime.ensure_release(it, wanted)
    once = by_runtime.tree()
    assert any(release_of(wanted.digest) in path for path in once)
    fetched = len(store.asked)
    await by_runtime.runtime.ensure_release(it, wanted)
    assert by_runtime.tree() == once
    assert len(store.asked) == fetched, "what is here is not fetched again"


async def test_ensuring_a_release_for_many_environments_downloads_it_once(
    by_runtime: DriverPair, store: LayerServer
) -> None:
    wanted = store.offer({"index.html": f"at once {new_id('x')}"})
    carried = [await _carried(by_runtime) for _ in range(6)]
    async with asyncio.TaskGroup() as group:
        for it in carried:
            group.create_task(by_runtime.runtime.ensure_release(it, wanted))
    names = [path for path in by_runtime.tree() if path.endswith(release_of(wanted.digest))]
    assert len(names) == 1


async def test_a_release_for_a_missing_environment_is_refused(
    by_runtime: DriverPair, store: LayerServer
) -> None:
    before, wanted = by_runtime.tree(), store.offer({"index.html": f"nobody's {new_id('x')}"})
    with pytest.raises(Refusal) as refused:
        await by_runtime.runtime.ensure_release(new_assignment(), wanted)
    assert refused.value.code == "environment.not_found"
    assert by_runtime.tree() == before


def _another(offer: EnsureRelease, store: LayerServer) -> EnsureRelease:
    return store.offer({"index.html": f"another than {offer.digest}"})


TAMPERED: dict[str, Callable[[EnsureRelease, LayerServer], EnsureRelease]] = {
    "no key is known": lambda it, _: replace(it, keys=()),
    "a key that cannot be one": lambda it, _: replace(it, keys=(b"short",)),
    "another's key": lambda it, _: replace(it, keys=(public_bytes(Ed25519PrivateKey.generate()),)),
    "signed by another": lambda it, _: replace(
        it, envelope=sign_provenance(it.digest, Ed25519PrivateKey.generate())
    ),
    "no envelope": lambda it, _: replace(it, envelope=b""),
    "envelope of another": lambda it, store: replace(it, envelope=_another(it, store).envelope),
    "manifest of another": lambda it, store: replace(it, manifest=_another(it, store).manifest),
    "changed manifest": lambda it, _: replace(it, manifest=it.manifest + b" "),
    "changed configuration": lambda it, _: replace(it, config=it.config + b" "),
    "layers of another": lambda it, store: replace(it, layers=_another(it, store).layers),
    "no layer": lambda it, _: replace(it, layers=()),
    "no digest": lambda it, _: replace(it, digest="../../escaped"),
    "digest of another": lambda it, store: replace(it, digest=_another(it, store).digest),
}


@pytest.mark.parametrize("how", TAMPERED)
async def test_an_artifact_without_a_known_signature_is_refused_and_leaves_nothing(
    by_runtime: DriverPair, store: LayerServer, how: str
) -> None:
    it, offer = await _carried(by_runtime), store.offer({"index.html": f"{how} {new_id('x')}"})
    tampered = TAMPERED[how](offer, store)
    before, asked = by_runtime.tree(), len(store.asked)
    with pytest.raises(Refusal) as refused:
        await by_runtime.runtime.ensure_release(it, tampered)
    assert refused.value.code == "artifact.signature_invalid"
    assert by_runtime.tree() == before
    assert len(store.asked) == asked, "nothing is fetched for what is not signed"


@pytest.mark.parametrize("change", ["empty", "shorter", "longer", "flipped"])
async def test_a_layer_with_a_wrong_digest_is_refused_and_leaves_nothing(
    by_runtime: DriverPair, store: LayerServer, change: str
) -> None:
    it, wanted = await _carried(by_runtime), store.offer({"index.html": f"{change} {new_id('x')}"})
    place = f"/{wanted.layers[0].digest}"
    real = store.blobs[place]
    changed = {"empty": b"", "shorter": real[:-1], "longer": real + b"x"}
    store.blobs[place] = changed.get(change, real[:-1] + bytes([real[-1] ^ 1]))
    before = by_runtime.tree()
    with pytest.raises(Refusal) as refused:
        await by_runtime.runtime.ensure_release(it, wanted)
    assert refused.value.code == "artifact.signature_invalid"
    assert by_runtime.tree() == before
    store.blobs[place] = real
    await by_runtime.runtime.ensure_release(it, wanted)


async def test_a_missing_layer_is_an_error_that_can_be_retried(
    by_runtime: DriverPair, store: LayerServer
) -> None:
    """It is not refused, so the node tries again."""
    it, wanted = await _carried(by_runtime), store.offer({"index.html": f"late {new_id('x')}"})
    real = store.blobs.pop(f"/{wanted.layers[0].digest}")
    before = by_runtime.tree()
    with pytest.raises(TransferFailed):
        await by_runtime.runtime.ensure_release(it, wanted)
    assert by_runtime.tree() == before
    store.blobs[f"/{wanted.layers[0].digest}"] = real
    await by_runtime.runtime.ensure_release(it, wanted)


async def test_a_cancelled_download_leaves_nothing(by_runtime: DriverPair, store: LayerServer) -> None:
    it, wanted = await _carried(by_runtime), store.offer({"index.html": f"stopped {new_id('x')}"})
    before, asked, store.paused = by_runtime.tree(), len(store.asked), threading.Event()
    fetching = asyncio.create_task(by_runtime.runtime.ensure_release(it, wanted))

    async def begun() -> bool | None:
        return len(store.asked) > asked or None

    await until(begun)
    fetching.cancel()
    store.paused.set()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    store.paused = None
    assert by_runtime.tree() == before


async def test_a_probe_can_see_a_release_that_visitors_do_not_see_yet(
    by_edge: DriverPair, store: LayerServer
) -> None:
    it, name = await _carried(by_edge), new_host()
    wanted = store.offer({"index.html": f"to be tried {new_id('x')}"})
    await by_edge.announce(it, [name])
    with pytest.raises(Refusal) as refused:
        await by_edge.edge.probe(it, Probe(name, release=release_of(wanted.digest)))
    assert refused.value.code == "deploy.unhealthy"
    await by_edge.runtime.ensure_release(it, wanted)
    await by_edge.edge.probe(it, Probe(name, release=release_of(wanted.digest)))
    await by_edge.answers(it, name)


@pytest.mark.parametrize(
    "environment", ["", ".", "..", "../escaped", "a/b", "/etc", "a\0b", ".hidden", "a.b", "é", "x" * 65]
)
async def test_an_environment_id_is_never_a_path(by_runtime: DriverPair, environment: str) -> None:
    parent = sorted(by_runtime.data.parent.iterdir())
    before, it = by_runtime.tree(), Assignment("job", "site", environment, CapturedOutput())
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


async def test_a_probe_reports_the_actual_status(by_edge: DriverPair) -> None:
    it, name = new_assignment(), new_host()
    assert await by_edge.unhealthy(it, name)
    await by_edge.runtime.ensure_environment(it)
    assert await by_edge.unhealthy(it, name)
    await by_edge.announce(it, [name])
    await by_edge.answers(it, name)
    await by_edge.announce(it, [])
    assert await by_edge.unhealthy(it, name)


async def test_a_host_without_its_simulated_environment_is_unhealthy(routes: SimulatedPair) -> None:
    it, name = new_assignment(), new_host()
    await routes.runtime.ensure_environment(it)
    await routes.announce(it, [name])
    await routes.runtime.remove_environment(it)
    assert await routes.unhealthy(it, name)


async def test_a_restarted_environment_answers(by_edge: DriverPair) -> None:
    it, name = new_assignment(), new_host()
    await by_edge.runtime.ensure_environment(it)
    await by_edge.announce(it, [name])
    await by_edge.runtime.restart_environment(it)
    await by_edge.answers(it, name)


async def test_routes_are_exactly_the_given_hosts(by_edge: DriverPair) -> None:
    it, (one, two, three) = new_assignment(), (new_host(), new_host(), new_host())
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
async def test_a_host_is_never_a_path_or_a_header(by_edge: DriverPair, name: str) -> None:
    it = new_assignment()
    await by_edge.runtime.ensure_environment(it)
    before = by_edge.tree()
    with pytest.raises(Refusal) as refused:
        await by_edge.answers(it, name)
    assert refused.value.code == "route.malformed"
    assert by_edge.tree() == before


async def test_ensuring_a_route_is_idempotent_and_safe_concurrently(routes: SimulatedPair) -> None:
    it, names = new_assignment(), [new_host(), new_host()]
    await routes.runtime.ensure_environment(it)
    await routes.announce(it, names)
    once = routes.tree()
    await routes.announce(it, list(reversed(names)))
    assert routes.tree() == once
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(routes.announce(it, names))
    assert routes.tree() == once


async def test_removing_a_route_removes_everything_of_it_and_is_idempotent(routes: SimulatedPair) -> None:
    it = new_assignment()
    await routes.runtime.ensure_environment(it)
    before = routes.tree()
    await routes.announce(it, [new_host(), new_host()])
    await routes.edge.remove_route(it, RemoveRoute())
    await routes.edge.remove_route(it, RemoveRoute())
    assert routes.tree() == before


async def test_a_host_of_another_environment_is_refused_and_nothing_changes(
    routes: SimulatedPair,
) -> None:
    owner, other, taken, free = new_assignment(), new_assignment(), new_host(), new_host()
    for it in (owner, other):
        await routes.runtime.ensure_environment(it)
    await routes.announce(owner, [taken])
    before = routes.tree()
    with pytest.raises(Refusal) as refused:
        await routes.announce(other, [free, taken])
    assert refused.value.code == "route.taken"
    assert routes.tree() == before
    await routes.edge.remove_route(other, RemoveRoute())
    await routes.answers(owner, taken)
    await routes.edge.remove_route(owner, RemoveRoute())
    await routes.announce(other, [free, taken])
    await routes.answers(other, taken)


async def test_only_one_of_two_environments_gets_the_same_host(
    routes: SimulatedPair,
) -> None:
    wanting, name = [new_assignment() for _ in range(6)], new_host()
    for it in wanting:
        await routes.runtime.ensure_environment(it)
    asked = [routes.announce(it, [name]) for it in wanting]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in ended].count(type(None)) == 1
    assert all(each is None or (isinstance(each, Refusal) and each.code == "route.taken") for each in ended)


async def test_a_simulated_driver_says_that_it_simulates(stack: RunningStack) -> None:
    simulated, nothing = CapturedOutput(), CapturedOutput()
    it = new_assignment(said=simulated)
    await simulated_drivers(stack).runtime.ensure_environment(it)
    assert simulated.lines == [f"simulator: simulated ensure_environment of {it.environment}"]
    it = new_assignment()
    await live_drivers(stack).runtime.ensure_environment(it)
    await live_drivers(stack).runtime.restart_environment(new_assignment(it.environment, nothing))
    assert "nothing to restart" in nothing.lines[0]
