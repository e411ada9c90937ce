"""A region with two edges, and a control plane that can be taken away from them."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.control.engines.nats import Nats
from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_REGION
from stead.dev.programs import Api, Worker
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import SupervisedProgram
from stead.protocol.edge_records import (
    EdgeRecord,
    EnvironmentRecord,
    HostRecord,
    environment_key,
    host_key,
    node_key,
)
from stead.protocol.subjects import Program as Role
from stead.shared.ids import new_id
from tests.edges.machine import Machine
from tests.edges.network import Network, network
from tests.edges.wire import Wire
from tests.faults.jobs.harness import PLAN
from tests.faults.jobs.programs import until
from tests.patience import slowdown
from tests.preloaded.processes import preloaded_programs

NODES = ("edge-a", "edge-b")
ENGINES: tuple[type[Engine], ...] = (Postgres, Redis, NatsServer, Temporal)
CONTROL_PLANE: tuple[type[SupervisedProgram], ...] = (*ENGINES, Api, Worker)
APPLIED_BOUND = 20.0

_numbers = count(1)


@dataclass(frozen=True)
class Site:
    host: str
    environment: str
    carrier: Machine
    other: Machine
    id: str = ""
    """Empty for one that only the edges know."""
    release: str = ""
    page: str = ""


class Region:
    def __init__(self, stack: RunningStack, edges: EdgeFeed, machines: tuple[Machine, Machine]) -> None:
        self.stack, self.edges, self.machines = stack, edges, machines
        assert stack.secrets.account is not None
        bearer = {"authorization": f"Bearer {stack.secrets.account.api_key}"}
        self.api = httpx.AsyncClient(base_url=stack.api.url, headers=bearer, timeout=30)
        # No connection is kept: a test that restarts an nginx wants to meet the new one.
        self.visitor = httpx.AsyncClient(timeout=10, limits=httpx.Limits(max_keepalive_connections=0))

    async def visit(self, machine: Machine, host: str, path: str = "/", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.visitor.get(f"http://{machine.address}{path}", headers={"host": host} | named)

    async def seen(self, host: str, path: str = "/") -> list[tuple[int, str]]:
        """Status and reason at every edge, asked once each."""
        answers = [await self.visit(machine, host, path) for machine in self.machines]
        return [(answer.status_code, answer.headers.get("x-stead-reason", "")) for answer in answers]

    async def ask(self, method: str, path: str, body: object = None) -> str:
        """The job that was accepted."""
        answer = await self.api.request(method, path, json=body)
        assert answer.status_code == 202, f"{method} {path}: {answer.status_code} {answer.text}"
        return str(answer.json()["data"]["id"])

    async def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api.get(f"/v1/jobs/{job}")).json()["data"]
        return found

    async def succeeded(self, job: str) -> dict[str, Any]:
        async def ended() -> dict[str, Any] | None:
            found = await self.job(job)
            return found if found["status"] in ("succeeded", "failed") else None

        found = await until(ended, f"{job} has ended", poll=0.02)
        assert found["status"] == "succeeded", found["error"]
        return found

    async def done(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return await self.succeeded(await self.ask(method, path, body))

    async def new_site(self) -> Site:
        """Through the API; the control plane decides which node carries it."""
        host = f"made-{next(_numbers)}.example.com"
        job = await self.done("POST", "/v1/sites", {"domain": host, "profile": "static"})
        environment = job["result"]["env_id"]
        [row] = await self.sql("select site_id, node_id from environments where id = $1", environment)
        carrier, other = sorted(self.machines, key=lambda machine: machine.id != row["node_id"])
        return Site(host, environment, carrier, other, row["site_id"])

    async def site_on(self, machine: Machine) -> Site:
        """Through the API, on this node: the other one takes no new sites meanwhile."""
        await self.sql("update nodes set draining = (id <> $1)", machine.id)
        try:
            site = await self.new_site()
        finally:
            await self.sql("update nodes set draining = false")
        assert site.carrier is machine
        return site

    async def publish(self, carrier: Machine, *, https: bool = False, **how: Any) -> Site:
        """A site with a page of its own, told to the edges as the worker tells them."""
        number = next(_numbers)
        host, environment, release = f"told-{number}.example.com", new_id("env"), f"release-{number}"
        page = f"<h1>{host}</h1>"
        carrier.write_release(release, page)
        [other] = [machine for machine in self.machines if machine is not carrier]
        await self.tell(
            {
                environment_key(LOCAL_REGION, environment): EnvironmentRecord(
                    "site_told", carrier.id, release=release, **how
                ),
                host_key(LOCAL_REGION, host): HostRecord(environment, https=https),
            }
        )
        return Site(host, environment, carrier, other, release=release, page=page)

    async def tell(self, records: dict[str, EdgeRecord | None]) -> None:
        """Returns when both edges go by it."""
        revision = await self.edges.put(records)
        await self.edges.wait_until_applied(LOCAL_REGION, NODES, revision, APPLIED_BOUND * slowdown())

    async def sql(self, statement: str, *args: object) -> list[Any]:
        connection: Any = await asyncpg.connect(self.stack[Postgres].url)
        try:
            return list(await connection.fetch(statement, *args))
        finally:
            await connection.close()

    async def stop_control_plane(self) -> None:
        await asyncio.gather(*(self.stack.stop(kind) for kind in reversed(CONTROL_PLANE)))

    async def start_control_plane(self, *, workers: bool = True) -> None:
        """What runs already goes on."""
        await asyncio.gather(*(self.stack.start(kind) for kind in ENGINES))
        await self.stack.start(Api)
        if workers:
            await self.stack.start(Worker)

    async def level(self) -> None:
        """Returns when both edges have applied everything that was ever said."""

        async def at_the_end() -> bool:
            try:
                last = await self.edges.last_revision()
                within = APPLIED_BOUND * slowdown()
                await self.edges.wait_until_applied(LOCAL_REGION, NODES, last, within)
            except FeedUnavailable:
                return False
            return True

        await until(at_the_end, "the edges are level")

    async def heard(self, machine: Machine) -> None:
        """Returns when the control plane counts on this node again."""

        async def alive() -> list[Any]:
            return await self.sql(
                "select from nodes where id = $1 and last_seen_at > now() - interval '5 seconds'", machine.id
            )

        await until(alive, f"{machine.id} is heard")

    async def begin(self) -> None:
        await self.sql(PLAN.format(name="unlimited", jobs=1000))
        await self.sql("update accounts set plan = 'unlimited'")
        for machine in self.machines:
            machine.start()
        await until(self._introduced, "both nodes have been heard")
        await self.level()

    async def _introduced(self) -> bool:
        try:
            return all([await self.edges.read_record(node_key(LOCAL_REGION, node)) for node in NODES])
        except FeedUnavailable:
            return False

    async def end(self) -> None:
        await self.api.aclose()
        await self.visitor.aclose()
        for machine in self.machines:
            await machine.kill()


@asynccontextmanager
async def region() -> AsyncIterator[Region]:
    data = _scratch()
    try:
        with preloaded_programs():
            async with _running_region(data) as made:
                yield made
    finally:
        # Set when the logs of the programs are wanted afterwards.
        if "EDGES_KEEP" not in os.environ:
            await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)


@asynccontextmanager
async def _running_region(data: Path) -> AsyncIterator[Region]:
    async with (
        network() as net,
        # Durable: what is stopped must come back with what it had acknowledged.
        run_stack(data, CONTROL_PLANE, durable=True) as stack,
        AsyncExitStack() as ending,
    ):
        machines = [await _machine(stack, node, net, ending) for node in NODES]
        edges = await _edges(stack, ending)
        made = Region(stack, edges, (machines[0], machines[1]))
        ending.push_async_callback(made.end)
        await made.begin()
        yield made


async def _machine(stack: RunningStack, node: str, net: Network, ending: AsyncExitStack) -> Machine:
    await stack.add_node(node)
    await stack.enrol_node(node)
    wire = Wire(stack[NatsServer].port)
    nats_address = await ending.enter_async_context(wire.laid(net.address))
    return Machine(stack, node, await net.add(), wire, nats_address)


async def _edges(stack: RunningStack, ending: AsyncExitStack) -> EdgeFeed:
    login = stack[NatsServer].login(Role.WORKER)
    nats = Nats(login.url, user=login.user, password=login.password, program=Role.WORKER)
    nats.start()
    ending.push_async_callback(nats.stop)
    await nats.ready()
    return EdgeFeed(nats)


def _scratch() -> Path:
    # Not pytest's own temporary directory: the users of PostgreSQL and nginx could not enter it.
    data = Path(tempfile.mkdtemp(prefix="stead-edges-"))
    data.chmod(0o711)
    return data
