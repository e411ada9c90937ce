"""A worker that cannot prepare NATS at first hears nodes nevertheless, as soon as it can."""

import asyncio

import pytest

from stead.control import worker as worker_module
from stead.control.engines.nats import Nats
from stead.control.engines.nats_streams import ensure_streams
from stead.control.settings import Settings
from stead.control.tasks import TaskRunner
from stead.control.worker import WorkerProgram
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Heartbeat, encode
from stead.protocol.subjects import Program
from tests.node.harness import connected
from tests.patience import time_limit

BOUND = 30.0


async def test_a_worker_hears_nodes_after_its_preparation_has_failed(
    nats_stack: RunningStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [RuntimeError("unexpected"), KeyError("also unexpected")]

    async def fail_at_first(nats_: Nats, **limits: int) -> None:
        if failures:
            raise failures.pop()
        await ensure_streams(nats_, **limits)

    monkeypatch.setattr(worker_module, "ensure_streams", fail_at_first)
    login = nats_stack[NatsServer].login(Program.WORKER)
    settings = Settings(
        database_url="postgresql://127.0.0.1:1/none",
        redis_url="redis://127.0.0.1:1/0",
        nats_url=login.url,
        nats_user=login.user,
        nats_password=login.password,
        sealing_key="0" * 43 + "=",
    )
    program = WorkerProgram(settings)
    heard = asyncio.Event()

    async def hear(heartbeat: Heartbeat) -> None:
        assert heartbeat.node == "node-deaf"
        heard.set()

    program.gateway._on_heartbeat = hear
    program.nats.start()
    tasks = TaskRunner(program.own_tasks)
    tasks.start()
    try:
        async with connected(nats_stack, Program.OPERATOR) as operator, time_limit(BOUND):
            beat = encode(Heartbeat("node-deaf", "us-east", 1, 0, "0.1.0"))
            while not heard.is_set():
                await operator.publish("node.node-deaf.heartbeat", beat)
                await asyncio.sleep(0.1)
        assert not failures
    finally:
        await tasks.stop()
        await program.nats.stop()
