"""A harness for agents that run as real processes, each with its own NATS login."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import nats
import nats.errors
import nats.js.errors
import psutil
from nats.aio.client import Client

from stead.control.engines.nats_streams import consumer_config, stream_config
from stead.dev.engines.nats import Nats
from stead.dev.local_node import LOCAL_REGION
from stead.dev.stack import Stack
from stead.dev.subprocesses import Streams
from stead.dev.supervised_program import clean_environment
from stead.node.containers import cgroups
from stead.node.settings import Settings, from_environment
from stead.protocol import subjects
from stead.protocol.commands import (
    Command,
    Order,
    Result,
    encode,
    read_line,
    read_result,
    result_kind,
)
from stead.protocol.streams import commands_consumer, edge_consumer, stream_specs
from stead.protocol.subjects import COMMANDS, REPORTS, Node
from stead.protocol.work.kinds import Work
from stead.shared.ids import new_id
from tests.patience import Patience
from tests.preloaded.processes import Process, spawn

AGENT = [sys.executable, "-m", "stead.steadctl", "node"]
BOUND = 20.0

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T | None]], bound: float = BOUND, pause: float = 0.05) -> T:
    """Call the function until it returns something, and return that."""
    patience = Patience(bound)
    while (found := await look()) is None:
        assert not patience.is_over, "nothing was found in time"
        await asyncio.sleep(pause)
    return found


@asynccontextmanager
async def connected(stack: Stack, role: subjects.NatsIdentity) -> AsyncIterator[Client]:
    login = stack[Nats].login(role)
    client = await nats.connect(
        login.url,
        user=login.user,
        password=login.password,
        inbox_prefix=login.inbox_prefix.encode(),
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
    )
    try:
        yield client
    finally:
        await client.close()


async def make_streams(client: Client) -> None:
    for it in stream_specs():
        await client.jetstream().add_stream(stream_config(it))


async def make_consumer(client: Client, node: Node, region: str = LOCAL_REGION) -> None:
    for it in (commands_consumer(node), edge_consumer(node, region)):
        await client.jetstream().add_consumer(it.stream, consumer_config(it))


@dataclass
class NodeHarness:
    """One node on a stack with streams."""

    stack: Stack
    operator: Client
    node: Node
    data: Path
    settings: dict[str, str]
    process: Process | None = None
    started: list[Process] = field(default_factory=list)
    _last_sent: int = 0
    """The number of the last order in the stream."""

    def as_settings(self, **changed: str) -> Settings:
        return from_environment(self.settings | changed)

    def start(self, *, agent: Sequence[str] = AGENT, **changed: str) -> None:
        self.data.mkdir(exist_ok=True)
        with (self.data.parent / f"{self.node.id}.log").open("ab") as log:
            self.process = spawn(
                agent, env=clean_environment(self.settings | changed), streams=Streams(log, log, log)
            )
        self.started.append(self.process)

    @property
    def log(self) -> str:
        return (self.data.parent / f"{self.node.id}.log").read_text()

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await asyncio.to_thread(self.process.wait)

    async def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return await asyncio.to_thread(self.process.wait, BOUND)

    def command(
        self, work: Work, *, step: str = "work", job: str = "", epoch: int = 1, **more: str
    ) -> Command:
        given: dict[str, Any] = {"site": "site_1", "environment": "env_1", "driver": "simulator"} | more
        return Command(self.node.id, job or new_id("job"), step, epoch, work=work, **given)

    async def send(self, order: Order | bytes) -> None:
        data = order if isinstance(order, bytes) else encode(order)
        stored = await self.operator.jetstream().publish(subjects.command(self.node.id, "test"), data)
        self._last_sent = stored.seq

    async def result(self, order: Order, *, bound: float = BOUND) -> Result:
        """The node's result for this attempt."""
        return await until(lambda: self._last(order), bound)

    async def _last(self, order: Order) -> Result | None:
        subject = subjects.report(self.node.id, result_kind(order.job, order.step))
        try:
            message = await self.operator.jetstream().get_last_msg(REPORTS, subject)
        except (nats.js.errors.NotFoundError, nats.errors.TimeoutError):
            # NATS does not answer while it starts, or while the machine is busy.
            return None
        result = read_result(message.data or b"")
        return result if result.epoch == order.epoch else None

    async def ask(self, order: Order) -> Result:
        await self.send(order)
        return await self.result(order)

    async def results(self, order: Order) -> list[Result]:
        """All results that the node reported for the step."""
        subject = subjects.report(self.node.id, result_kind(order.job, order.step))
        return [read_result(data) for data in await self.kept(subject)]

    async def lines(self, job: str) -> list[str]:
        return [read_line(data).text for data in await self.kept(subjects.output_of(job))]

    async def kept(self, subject: str) -> list[bytes]:
        jetstream = self.operator.jetstream()
        stream = await jetstream.find_stream_name_by_subject(subject)
        counts = (await jetstream.stream_info(stream, subjects_filter=subject)).state.subjects or {}
        reading = await jetstream.pull_subscribe(subject, stream=stream)
        found: list[bytes] = []
        try:
            while len(found) < sum(counts.values()):
                batch = await reading.fetch(500, timeout=5)
                found += [message.data for message in batch]
                for message in batch:
                    await message.ack()
        finally:
            await reading.unsubscribe()
        return found

    async def unacknowledged(self) -> int:
        """How many orders the node has not acknowledged. The consumer learns of a new one a moment after the
        stream has stored it."""
        info = await self.operator.jetstream().consumer_info(COMMANDS, self.node.id)
        is_last_acknowledged = info.ack_floor is not None and info.ack_floor.stream_seq >= self._last_sent
        return max((info.num_pending or 0) + (info.num_ack_pending or 0), int(not is_last_acknowledged))

    async def until_acknowledged(self) -> None:
        """Wait until the node has acknowledged every order."""

        async def look() -> bool | None:
            return await self.unacknowledged() == 0 or None

        await until(look)

    async def under_way(self, argv0: str = "/bin/sleep") -> psutil.Process:
        """Wait for a child process of the agent that runs this program."""

        async def look() -> psutil.Process | None:
            assert self.process is not None
            children = psutil.Process(self.process.pid).children(recursive=True)
            return next((child for child in children if _runs(child, argv0)), None)

        return await until(look)

    def carried_out(self, order: Order) -> int:
        count, _ = self._journal_entry(order)
        return count

    def _journal_entry(self, order: Order) -> tuple[int, float | None]:
        """How often the step was carried out, and when it ended."""
        with sqlite3.connect(self.data / "journal.sqlite") as journal:
            row = journal.execute(
                "select carried_out, ended_at from steps where job = ? and step = ?", (order.job, order.step)
            ).fetchone()
        return row or (0, None)

    async def journaled(self, order: Order) -> None:
        async def look() -> bool | None:
            # An agent that has just started may not have made its tables yet.
            with suppress(sqlite3.OperationalError):
                return ((self.data / "journal.sqlite").exists() and self.carried_out(order) > 0) or None
            return None

        await until(look)

    async def ended(self, order: Order) -> None:
        """Wait until the journal has the end of the step."""

        async def look() -> float | None:
            _, ended_at = self._journal_entry(order)
            return ended_at

        await until(look)


@asynccontextmanager
async def start_harness(
    stack: Stack, operator: Client, region: str = LOCAL_REGION, *, directory: str = ""
) -> AsyncIterator[NodeHarness]:
    """A new node with its own consumers. Its agents are killed at the end of the block. Its directory has the
    name of the node, which is too long for the sockets of WordPress sites."""
    node = Node(new_id("n").replace("_", "-"))
    await stack.add_node(node.id)
    await make_consumer(operator, node, region)
    data = stack.directory.path / (directory or node.id)
    it = NodeHarness(stack, operator, node, data, stack.node_environment(node.id, data, region))
    try:
        yield it
    finally:
        for process in it.started:
            process.kill()
            process.wait()


def kill_processes(cgroup: str) -> None:
    """Kill everything in a container."""
    for pid in cgroups.processes(cgroup):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _runs(process: psutil.Process, argv0: str) -> bool:
    """Whether the process runs this program. One that ended meanwhile does not."""
    try:
        return process.cmdline()[:1] == [argv0]
    except psutil.Error:
        return False
