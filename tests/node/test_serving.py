"""The node of the development stack with its nginx: when a command is done, visitors are served."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.nats import Nats
from stead.dev.child_process import ChildState
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.engines.nginx import Nginx
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.programs import NodeAgent
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol.edge_records import EdgeRecord, EnvironmentRecord, HostRecord, environment_key, host_key
from stead.protocol.subjects import Node, Program
from stead.protocol.work.hosting import EnsureEnvironment, Probe, RemoveEnvironment, RestartEnvironment
from stead.protocol.work.kinds import Work
from stead.shared.ids import new_id
from tests.node.harness import NodeHarness, connected, make_consumer, make_streams, until


@pytest.fixture(scope="module")
async def dev(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    async with run_stack(shared_scratch, [NatsServer, Nginx, NodeAgent]) as stack:
        async with connected(stack, Program.OPERATOR) as operator:
            await make_streams(operator)
            await make_consumer(operator, Node(LOCAL_NODE))
        yield stack


@pytest.fixture
async def node(dev: RunningStack) -> AsyncIterator[NodeHarness]:
    async with connected(dev, Program.OPERATOR) as operator:
        yield NodeHarness(dev, operator, Node(LOCAL_NODE), dev.node_data, {})


async def told(dev: RunningStack, environment: str, hosts: dict[str, bool]) -> None:
    """Announce or remove hosts of the environment, as the worker does."""
    login = dev[NatsServer].login(Program.WORKER)
    nats = Nats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    nats.start()
    await nats.ready()
    try:
        edges, records = EdgeFeed(nats), dict[str, EdgeRecord | None]()
        records[environment_key(LOCAL_REGION, environment)] = EnvironmentRecord("site_1", LOCAL_NODE)
        for host, leads in hosts.items():
            records[host_key(LOCAL_REGION, host)] = HostRecord(environment) if leads else None
        await edges.wait_until_applied(LOCAL_REGION, [LOCAL_NODE], await edges.put(records), within=20)
    finally:
        await nats.stop()


async def status(dev: RunningStack, host: str) -> int:
    async with httpx.AsyncClient(timeout=60.0) as client:
        return (await client.get(f"http://{dev[Nginx].address}/", headers={"host": host})).status_code


async def test_a_visitor_is_answered_when_the_node_reports_done(dev: RunningStack, node: NodeHarness) -> None:
    environment, host, other = new_id("env"), "shop.example.com", "www.shop.example.com"

    async def outcome(work: Work) -> str:
        return (await node.ask(node.command(work, environment=environment, driver="live"))).outcome

    assert await status(dev, host) == 404
    assert await outcome(EnsureEnvironment("static")) == "done"
    await told(dev, environment, {host: True, other: True})
    assert await outcome(Probe(host)) == "done"
    assert [await status(dev, each) for each in (host, other)] == [200, 200]
    assert await outcome(RestartEnvironment("static")) == "done"
    await told(dev, environment, {other: False})
    assert [await status(dev, each) for each in (host, other)] == [200, 404]
    await told(dev, environment, {host: False})
    assert await status(dev, host) == 404
    assert await outcome(Probe(host)) == "refused"
    assert await outcome(RemoveEnvironment()) == "done"
    assert list((dev.node_data / "environments").iterdir()) == []


async def test_sites_are_served_while_the_agent_is_down(dev: RunningStack, node: NodeHarness) -> None:
    environment, host = new_id("env"), "stays.example.com"
    await node.ask(node.command(EnsureEnvironment("static"), environment=environment, driver="live"))
    await told(dev, environment, {host: True})
    await dev.stop(NodeAgent)
    assert await status(dev, host) == 200
    await dev.start(NodeAgent)
    assert await status(dev, host) == 200


async def test_a_killed_node_is_restarted_and_continues(dev: RunningStack, node: NodeHarness) -> None:
    process = dev.child(NodeAgent).status.process
    assert process is not None
    assert process.send_signal(signal.SIGKILL)

    async def again() -> bool | None:
        now = dev.child(NodeAgent).status.process
        return (now is not None and now != process) or None

    await until(again)
    assert (await node.ask(node.command(EnsureEnvironment("wasm")))).outcome == "done"


async def test_a_killed_edge_is_restarted_and_serves_the_same_sites(
    dev: RunningStack, node: NodeHarness
) -> None:
    environment, host = new_id("env"), "again.example.com"
    await node.ask(node.command(EnsureEnvironment("static"), environment=environment, driver="live"))
    await told(dev, environment, {host: True})
    process = dev.child(Nginx).status.process
    assert process is not None
    assert process.send_signal(signal.SIGKILL)

    async def again() -> bool | None:
        now = dev.child(Nginx).status
        return (now.process != process and now.state == ChildState.READY) or None

    await until(again)
    assert await status(dev, host) == 200
