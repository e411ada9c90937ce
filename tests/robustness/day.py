"""An installation in which a day passes within two minutes.

Everything is real except the clock of the control plane: PostgreSQL, Redis, NATS, Temporal, the object
store, a node, an SMTP server and receivers of webhooks. API and worker run in the process of the test, so
that it can move their clock. Periodic tasks run more often in proportion, under the worker's supervisor.

The clock jumps by half an hour at a time. A lease must not end while its owner is alive, so a jump waits
until nothing is being sent; jobs may be running. Temporal, NATS, Redis and the node have the real time: what
they time out or expire is not part of this.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec

from stead.control.app import ControlPlane
from stead.control.engines.migrations import migrate
from stead.control.feature import Feature
from stead.control.features import FEATURES
from stead.control.settings import from_environment
from stead.control.tasks import LongRunningTask, PeriodicTask, Task, WorkerServices
from stead.control.worker import WorkerProgram
from stead.dev.certificate_authority import CertificateAuthority
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_NODE
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol.subjects import Program as Role
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.control.invites.sink import Sink, new_sink
from tests.faults.jobs.programs import Program, until
from tests.receiver import Receiver
from tests.robustness.object_store_proxy import ObjectStoreProxy

STEP = timedelta(minutes=30)
FACTOR = 900
"""How much more often periodic tasks run than they would."""
SHORTEST_INTERVAL = 0.25
LOOPBACK = "127.0.0.0/8"
ROOT = Path(__file__).parents[2]
# It would look for a repository that does not exist: the pushes of the test come from a forge.
LEFT_OUT = {"git.poll"}

UNSENT = """
  select (select count(*) from events where position is null)
    + (select count(*) from webhook_deliveries where status = 'pending'
       and (claim > attempts or next_attempt_at < $1::timestamptz + interval '1 second'))
    + (select count(*) from outgoing_mail where next_attempt_at < $1::timestamptz + interval '1 second'
       or next_attempt_at > $1::timestamptz + interval '890 seconds')
"""
"""What is due, or being sent: a claimed email has a lease of a quarter of an hour."""
OPEN_JOBS = "select count(*) from jobs where status in ('queued', 'running') and site_id <> $1"


class TaskFault(Exception):
    """What the faulty tasks raise."""


@dataclass
class Gate:
    """Lets tasks run, except while the clock is being moved."""

    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0

    def guard(self, run: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
        async def guarded() -> None:
            await self.is_open.wait()
            self.running += 1
            try:
                await run()
            finally:
                self.running -= 1

        return guarded


@dataclass
class FaultyTasks:
    """Two tasks that raise: one every other time, one always."""

    runs: int = 0
    raised: dict[str, int] = field(default_factory=lambda: {"faulty.sometimes": 0, "faulty.always": 0})

    def feature(self) -> Feature:
        return Feature(name="faulty", tasks=self._tasks)

    def _tasks(self, _: WorkerServices) -> Sequence[Task]:
        return [
            PeriodicTask("faulty.sometimes", 450, self._sometimes),
            LongRunningTask("faulty.always", self._always),
        ]

    async def _sometimes(self) -> None:
        self.runs += 1
        if self.runs % 2:
            self.raised["faulty.sometimes"] += 1
            raise TaskFault

    async def _always(self) -> None:
        await asyncio.sleep(0.1)
        self.raised["faulty.always"] += 1
        raise TaskFault


@dataclass
class Day:
    plane: ControlPlane
    worker: WorkerProgram
    clock: MovableClock
    gate: Gate
    faulty: FaultyTasks
    sink: Sink
    receivers: dict[str, Receiver]
    objects: ObjectStoreProxy
    anonymous: Client

    async def value(self, sql: str, *args: object) -> Any:
        async with self.plane.database.reading() as tx:
            return await tx.value(sql, *args)

    async def rows(self, sql: str, *args: object) -> list[tuple[Any, ...]]:
        async with self.plane.database.reading() as tx:
            return await tx.all(lambda *row: row, sql, *args)

    async def wait_until_sent(self) -> None:
        async def all_sent() -> bool:
            return not await self.value(UNSENT, self.clock())

        await until(all_sent, "everything that is due was sent")

    async def wait_until_idle(self, *, except_site: str = "") -> None:
        """Wait until every job has ended, except those of one site, and everything that is due was sent."""

        async def idle() -> bool:
            return not await self.value(OPEN_JOBS, except_site) and not await self.value(UNSENT, self.clock())

        await until(idle, "every job has ended", bound=90)

    async def move_clock(self, by: timedelta = STEP) -> None:
        """Move the clock while no task runs and nothing is being sent, then wait for a heartbeat."""
        self.gate.is_open.clear()

        async def moved() -> bool:
            if self.gate.running:
                return False
            async with self.plane.database.transaction() as tx:
                # No delivery can be claimed until the clock has been moved.
                await tx.run("lock table webhook_deliveries, outgoing_mail in exclusive mode")
                if await tx.value(UNSENT, self.clock()):
                    return False
                self.clock.move(by)
                return True

        await until(moved, "nothing is being sent")

        async def heard() -> bool:
            return bool(
                await self.value("select last_seen_at > $1 from nodes", self.clock() - timedelta(seconds=10))
            )

        await until(heard, "the node was heard")
        self.gate.is_open.set()


def _accelerate(feature: Feature, gate: Gate) -> Feature:
    """The feature with periodic tasks that run more often, but not while the clock is moved."""
    declare = feature.tasks
    if declare is None:
        return feature

    def tasks(services: WorkerServices) -> list[Task]:
        return [_accelerated(task, gate) for task in declare(services) if task.name not in LEFT_OUT]

    return replace(feature, tasks=tasks)


def _accelerated(task: Task, gate: Gate) -> Task:
    if not isinstance(task, PeriodicTask):
        return task
    return PeriodicTask(task.name, max(task.seconds / FACTOR, SHORTEST_INTERVAL), gate.guard(task.run))


@asynccontextmanager
async def simulated_day(data: Path, authority: CertificateAuthority) -> AsyncIterator[Day]:
    engines = [Postgres, Redis, Nats, Temporal, SeaweedFS]
    receivers = {"steady": Receiver(), "unsteady": Receiver()}
    async with run_stack(data, engines) as stack:
        objects, sink = ObjectStoreProxy(("127.0.0.1", stack[SeaweedFS].port)), new_sink()
        await asyncio.to_thread(migrate, stack[Postgres].url)
        await stack.add_node(LOCAL_NODE)
        await stack.enrol_node(LOCAL_NODE)
        async with AsyncExitStack() as servers:
            await servers.enter_async_context(objects.open())
            servers.enter_context(sink.open())
            for receiver in receivers.values():
                await servers.enter_async_context(receiver.open(authority.server_context(receiver.host)))
            yield await servers.enter_async_context(_programs(stack, objects, sink, receivers))


@asynccontextmanager
async def _programs(
    stack: RunningStack, objects: ObjectStoreProxy, sink: Sink, receivers: dict[str, Receiver]
) -> AsyncIterator[Day]:
    clock, gate, faulty = MovableClock(), Gate(), FaultyTasks()
    more = {"s3_endpoint": objects.url, "smtp_url": sink.url, "webhook_networks": LOOPBACK}
    api_settings = msgspec.structs.replace(from_environment(stack.environment(Role.API)), **more)
    worker_settings = msgspec.structs.replace(from_environment(stack.environment(Role.WORKER)), **more)
    plane = ControlPlane(api_settings, clock=clock)
    features = [_accelerate(feature, gate) for feature in (*FEATURES, faulty.feature())]
    worker, end = WorkerProgram(worker_settings, features, clock=clock), asyncio.Event()
    node = Program(
        [sys.executable, "-m", "tests.robustness.frequent_node"],
        stack.node_environment(LOCAL_NODE, stack.node_data)
        | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", "STEAD_NODE_CAPACITY": "1000"}
        | {"STEAD_IMAGES": str(stack.node_data / "no-images")},
        stack.directory.logs / "node.log",
    )
    async with plane.running():
        async with plane.database.transaction() as tx:
            await tx.run(UNLIMITED)
        running = asyncio.create_task(worker.run(end))
        node.start()
        anonymous = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
        day = Day(plane, worker, clock, gate, faulty, sink, receivers, objects, anonymous)
        try:
            await until(lambda: day.value("select last_seen_at from nodes"), "the node was heard")
            gate.is_open.set()
            yield day
        finally:
            gate.is_open.set()
            end.set()
            await asyncio.wait({running}, timeout=60)
            await node.kill()
        running.result()
