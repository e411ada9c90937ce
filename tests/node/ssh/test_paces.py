"""How often sessions begin."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from stead.node.hosting.wake_budget import WakeBudget
from stead.node.ssh.messages import Start
from stead.node.ssh.site_programs import SitePrograms
from stead.shared.token_bucket import TokenBuckets
from tests.node.harness import until
from tests.node.ssh.gateway_node import GatewayNode
from tests.patience import time_limit


@pytest.mark.parametrize(
    ("part", "name", "reason"),
    [("sessions", "_entries", "too many new connections"), ("programs", "_starts", "too many sessions")],
)
async def test_an_environment_does_not_begin_sessions_without_a_pause(
    gateway: GatewayNode, monkeypatch: pytest.MonkeyPatch, part: str, name: str, reason: str
):
    monkeypatch.setattr(getattr(gateway, part), name, TokenBuckets(0.001, 2))
    codes = [await gateway.ssh("true") for _ in range(3)]
    assert [each.code == 0 for each in codes] == [True, True, False]
    assert reason in codes[-1].err


class SlowRunc:
    """Its containers begin when they are told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.begin = asyncio.Semaphore(0)

    async def run_attached(
        self,
        _container: object,
        _configuration: object,
        _descriptors: object,
        on_created: Callable[[], Awaitable[None]],
    ) -> int:
        self.asked += 1
        await self.begin.acquire()
        await on_created()
        await asyncio.get_running_loop().create_future()
        return 0


async def test_few_containers_start_at_the_same_time(gateway: GatewayNode):
    runc = SlowRunc()
    programs = SitePrograms(gateway.node.runtime, cast("Any", runc), WakeBudget(starts_at_once=1))
    plan = await programs.plan(gateway.site.environment)

    async def ignore(*_: object) -> None: ...

    running = [
        asyncio.create_task(programs.run(plan, Start(n, "shell"), (), on_start=ignore, end=ignore))
        for n in range(2)
    ]

    async def asked(count: int) -> None:
        async def so_many() -> bool | None:
            return runc.asked == count or None

        await until(so_many)

    try:
        await asked(1)
        await asyncio.wait(running, timeout=0.3)
        assert runc.asked == 1
        # The first one runs on, and the second one starts.
        runc.begin.release()
        await asked(2)
    finally:
        for task in running:
            task.cancel()
        async with time_limit(10):
            await asyncio.wait(running)
