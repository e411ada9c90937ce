"""Counters, revisions and locks are linearizable while NATS is killed and those who ask are killed."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.nats import NATS_UNREACHABLE
from stead.control.engines.nats_state import StateStream
from stead.control.engines.nats_streams import ensure_streams
from stead.control.engines.postgres import DATABASE_FAILED
from stead.control.functions.state import FunctionState
from stead.control.functions.state_quota import StateQuota
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.running_stack import RunningStack, run_stack
from stead.node.functions.spec import FunctionSpec
from stead.protocol.function_state import StateOperation, StateQuestion
from stead.shared.cancellation import cancel_all
from tests import teams
from tests.control.functions.histories import (
    CounterRead,
    Holding,
    Increment,
    Read,
    Write,
    check_counter,
    check_key,
    check_lock,
)
from tests.node.feed.feed_harness import worker_connection
from tests.node.functions.hosting import Hosting, binding, hosting
from tests.node.functions.modules import asking
from tests.patience import time_limit
from tests.people import Person

WORKERS, CLIENTS, OPERATIONS, KILLS = 2, 12, 3000, 4
COUNTING_CLIENTS, COUNTING_OPERATIONS = 8, 1000
LOCK_SECONDS = 1.0
WITHOUT_RESULT = (*DATABASE_FAILED, *NATS_UNREACHABLE)
"""A worker sends no answer then, so nobody knows what has happened."""
CHANCE = random.Random()  # noqa: S311 - what happens at the same time differs in every run anyway


@dataclass
class History:
    increments: list[Increment] = field(default_factory=list)
    counter_reads: list[CounterRead] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    done: int = 0


class Asking:
    """One client of one worker."""

    def __init__(
        self, state: FunctionState, environment: str, history: History, names: Iterator[int]
    ) -> None:
        self._state, self._environment, self._history, self._names = state, environment, history, names

    async def ask(self, op: StateOperation, **arg: Any) -> Any:
        question = StateQuestion("node-1", "q", "site_1", self._environment, "fn_1", "all", op, arg)
        answer = await self._state.answer(question)
        if "error" in answer and answer["error"]["code"] not in ("state.conflict", "state.busy"):
            raise AssertionError(answer)
        return answer

    async def increment(self) -> None:
        made = Increment(time.monotonic())
        self._history.increments.append(made)
        answer = await self.ask("coord.increment", name="visits")
        if "error" in answer:
            self._history.increments.remove(made)
            return
        made.end, made.value = time.monotonic(), answer["ok"]

    async def count(self) -> None:
        start = time.monotonic()
        value = (await self.ask("coord.get", name="visits"))["ok"]
        self._history.counter_reads.append(CounterRead(start, time.monotonic(), value))

    async def last_count(self) -> int:
        """The counter after everything. Another worker may have done the rest before this one was connected
        to the server again."""
        while True:
            try:
                return int((await self.ask("coord.get", name="visits"))["ok"])
            except WITHOUT_RESULT:
                await asyncio.sleep(0.05)

    async def replace(self) -> None:
        start = time.monotonic()
        found = (await self.ask("kv.get", key="page"))["ok"]
        base, value = (found["revision"], found["value"]) if found else (0, None)
        self._history.reads.append(Read(start, time.monotonic(), base, value))
        write = Write(time.monotonic(), f"value {next(self._names)}", base)
        self._history.writes.append(write)
        answer = await self.ask("kv.put", key="page", value=write.value, revision=base)
        write.end = time.monotonic()
        write.is_refused = "error" in answer
        write.revision = None if write.is_refused else answer["ok"]["revision"]

    async def lock(self) -> None:
        start = time.monotonic()
        taken = (await self.ask("coord.lock", name="door", ttl=LOCK_SECONDS))["ok"]
        if taken is None:
            return
        held = Holding(start, time.monotonic(), taken["token"], released=start + LOCK_SECONDS)
        self._history.holdings.append(held)
        await asyncio.sleep(CHANCE.uniform(0, 0.01))
        held.released = min(held.released, time.monotonic())
        await self.ask("coord.unlock", name="door", token=held.token)

    async def run(self) -> None:
        """Until it is killed."""
        chosen: list[Callable[[], Awaitable[None]]] = [self.increment, self.count, self.replace, self.lock]
        while True:
            try:
                await CHANCE.choice(chosen)()
                self._history.done += 1
                await asyncio.sleep(0)
            except WITHOUT_RESULT:
                # Without a result: the next operation does not depend on it. Most should have one.
                await asyncio.sleep(0.05)


class Counting:
    """A client that asks functions, whose processes ask for the state."""

    def __init__(self, host: Hosting, functions: Sequence[FunctionSpec], history: History) -> None:
        self._host, self._history = host, history
        self._increment, self._count = functions

    async def run(self) -> None:
        while True:
            if CHANCE.random() < 0.7:
                await self.increment()
            else:
                await self.count()

    async def increment(self) -> None:
        made = Increment(time.monotonic())
        self._history.increments.append(made)
        answer = await self._ask(self._increment)
        if answer is None:
            return
        if "error" in answer:
            assert answer["error"]["code"] == "state.busy", answer
            self._history.increments.remove(made)
            return
        made.end, made.value = time.monotonic(), answer["ok"]

    async def count(self) -> None:
        start = time.monotonic()
        answer = await self._ask(self._count)
        if answer is not None:
            self._history.counter_reads.append(CounterRead(start, time.monotonic(), answer["ok"]))

    async def _ask(self, function: FunctionSpec) -> Any:
        """None if nobody knows what has happened."""
        seen = await self._host.ask(function, within=60.0)
        self._history.done += 1
        return json.loads(seen.body) if seen is not None and seen.status == 200 and seen.body else None


@pytest.fixture
async def nats() -> AsyncIterator[RunningStack]:
    with tempfile.TemporaryDirectory(prefix="stead-state-") as scratch:
        async with run_stack(Path(scratch), [NatsServer]) as started:
            yield started


async def test_state_is_linearizable_while_servers_and_functions_are_killed(
    plane: ControlPlane, person: Person, nats: RunningStack
) -> None:
    async with plane.database.transaction() as tx:
        environment = await teams.environment_of(tx, await teams.insert_site(tx, account=person.id))
    history, names = History(), itertools.count()
    async with contextlib.AsyncExitStack() as open_:
        states = []
        for _ in range(WORKERS):
            worker = await open_.enter_async_context(worker_connection(nats))
            await ensure_streams(worker)
            stream = StateStream(worker)
            states.append(FunctionState(stream, StateQuota(plane.database, stream)))
        clients: list[asyncio.Task[None]] = []

        def start(number: int) -> asyncio.Task[None]:
            asking = Asking(states[number % WORKERS], environment, history, names)
            return asyncio.create_task(asking.run())

        clients = [start(number) for number in range(CLIENTS)]
        async with time_limit(240):
            for round_ in range(1, KILLS + 2):
                while history.done < OPERATIONS * round_ / (KILLS + 1):
                    await asyncio.sleep(0.05)
                    await _replace_one(clients, start)
                if round_ <= KILLS:
                    await nats.kill(NatsServer)
                    await nats.start(NatsServer)
        assert [client.exception() for client in clients if client.done()] == []
        await cancel_all(clients)
        async with time_limit(60):
            last = await Asking(states[0], environment, history, names).last_count()
    wrong = check_counter(history.increments, history.counter_reads, last)
    assert wrong == []
    assert check_key(history.writes, history.reads) == []
    assert check_lock(history.holdings) == []
    unknown = sum(each.value is None for each in history.increments)
    print(  # noqa: T201
        f"\n{history.done} operations, {KILLS} kills of NATS: {len(history.increments)} increments"
        f" ({unknown} without a result), {len(history.writes)} writes, {len(history.holdings)} locks"
    )
    assert min(len(history.increments), len(history.writes), len(history.holdings)) > 20


async def test_a_counter_is_linearizable_while_processes_of_functions_are_killed(
    plane: ControlPlane, person: Person, nats: RunningStack
) -> None:
    if os.geteuid() != 0:
        pytest.skip("containers need root")
    async with plane.database.transaction() as tx:
        environment = await teams.environment_of(tx, await teams.insert_site(tx, account=person.id))
    history, killed = History(), 0
    async with worker_connection(nats) as worker:
        await ensure_streams(worker)
        stream = StateStream(worker)
        state = FunctionState(stream, StateQuota(plane.database, stream))

        async def ask_state(
            spec: FunctionSpec, op: StateOperation, namespace: str, arg: dict[str, Any]
        ) -> dict[str, Any]:
            """The function returns what it is told as its response."""
            question = StateQuestion("node-1", "q", spec.site, environment, spec.function, namespace, op, arg)
            answer = await state.answer(question)
            return {**answer, "body": json.dumps(answer)}

        async with hosting(Path(tempfile.mkdtemp(prefix="stead-fn-")), ask_state=ask_state) as host:
            functions = [await _serve_counter(host, op) for op in ("coord.increment", "coord.get")]
            clients = [
                asyncio.create_task(Counting(host, functions, history).run()) for _ in range(COUNTING_CLIENTS)
            ]
            async with time_limit(240):
                while history.done < COUNTING_OPERATIONS:
                    await asyncio.sleep(0.05)
                    killed += host.kill_one(CHANCE.choice(functions).version)
                    assert [client.exception() for client in clients if client.done()] == []
            await cancel_all(clients)
        last = await state.answer(
            StateQuestion(
                "node-1", "q", "site_a", environment, "fn_1", "all", "coord.get", {"name": "visits"}
            )
        )
    assert check_counter(history.increments, history.counter_reads, last["ok"]) == []
    unknown = sum(each.value is None for each in history.increments)
    print(  # noqa: T201
        f"\n{history.done} requests, {killed} processes killed: {len(history.increments)} increments"
        f" ({unknown} without a result), {len(history.counter_reads)} reads"
    )
    assert killed > 5
    assert last["ok"] > COUNTING_OPERATIONS // 4


async def _serve_counter(host: Hosting, operation: str) -> FunctionSpec:
    bound = (binding("coord", "COUNTER", namespace="all"),)
    module = asking(operation, {"binding": "COUNTER", "name": "visits"})
    return await host.serve(module, bindings=bound, wall_ms=20_000)


async def _replace_one(clients: list[asyncio.Task[None]], start: Callable[[int], asyncio.Task[None]]) -> None:
    """Kill one in the middle of what it does, and start another one in its place."""
    number = CHANCE.randrange(len(clients))
    assert not clients[number].done(), clients[number].exception()
    await cancel_all([clients[number]])
    clients[number] = start(number)
