"""An environment sleeps, wakes once for everyone, survives its container and the agent, and never spins."""

import asyncio
from typing import Any

import pytest

from stead.node.containers import cgroups
from stead.node.containers.services import ServiceContainer, Services
from stead.node.hosting.environment import HostedEnvironment, WakeFailed
from stead.node.hosting.hosts import Hosts
from stead.node.hosting.wake_budget import WakeBudget
from tests.node.harness import kill_processes, until
from tests.node.hosting.conftest import ServerPlan


async def test_it_starts_asleep_and_a_hundred_visitors_at_once_wake_it_once(
    plan: ServerPlan, hosted: HostedEnvironment
):
    assert (hosted.state, plan.prepared) == ("asleep", 0)
    answers = await asyncio.gather(*(plan.get() for _ in range(100)))
    assert len(set(answers)) == 1
    assert (hosted.state, plan.prepared) == ("awake", 1)


async def test_all_ways_to_wake_it_start_it_once(plan: ServerPlan, hosted: HostedEnvironment):
    await asyncio.gather(*(hosted.wake() for _ in range(20)), *(plan.get() for _ in range(20)))
    assert plan.prepared == 1


async def test_the_next_visitor_after_a_crash_is_answered_by_a_new_container(
    plan: ServerPlan, hosted: HostedEnvironment
):
    first = await plan.get()
    kill_processes(plan.container.cgroup)

    async def is_noticed() -> bool | None:
        return hosted.state != "awake" or None

    await until(is_noticed)
    # It lived only a moment, so the next start waits a little; until then visitors are refused at once.
    second = await until(lambda: _get_or_none(plan))
    assert first != second


async def test_a_container_that_dies_at_once_is_not_started_again_and_again(
    plan: ServerPlan, hosted: HostedEnvironment
):
    plan.program = "process.exit(1)"
    ended = asyncio.get_running_loop().time() + 6
    refused = 0
    while asyncio.get_running_loop().time() < ended:
        try:
            await plan.get()
        except OSError:
            refused += 1
        await asyncio.sleep(0.02)
    assert hosted.state == "failing"
    assert refused > 20
    assert plan.prepared <= 5


async def test_a_repaired_environment_recovers_by_itself(plan: ServerPlan, hosted: HostedEnvironment):
    working, plan.program = plan.program, "process.exit(1)"
    with pytest.raises(OSError):
        await plan.get()
    plan.program = working
    assert await until(lambda: _get_or_none(plan))


async def test_an_environment_that_cannot_be_prepared_refuses_visitors_with_the_reason(
    plan: ServerPlan, hosted: HostedEnvironment
):
    plan.image = plan.directory / "missing"
    with pytest.raises(WakeFailed, match=r"missing|rootfs|no such file"):
        await hosted.wake()
    with pytest.raises(OSError):
        await plan.get()
    assert not cgroups.processes(plan.container.cgroup)


async def test_a_new_agent_adopts_a_running_container(
    plan: ServerPlan, services: Services, hosted: HostedEnvironment
):
    first = await plan.get()
    await hosted.close()
    # While no agent runs, the container goes on.
    assert await plan.get() == first
    adopting = HostedEnvironment(plan, services, WakeBudget())
    await adopting.open()
    assert adopting.state == "awake"
    assert await plan.get() == first
    assert plan.prepared == 1
    await adopting.sleep()
    assert not cgroups.processes(plan.container.cgroup)
    assert await plan.get() != first
    await adopting.remove()
    await adopting.close()


async def test_a_container_that_died_while_no_agent_ran_is_cleared_away(
    plan: ServerPlan, services: Services, hosted: HostedEnvironment
):
    first = await plan.get()
    await hosted.close()
    kill_processes(plan.container.cgroup)

    again = HostedEnvironment(plan, services, WakeBudget())
    await again.open()

    async def is_asleep() -> bool | None:
        return again.state == "asleep" or None

    await until(is_asleep)
    assert await plan.get() != first
    await again.remove()
    await again.close()


async def test_no_request_is_lost_while_it_is_restarted_or_put_to_sleep(
    plan: ServerPlan, hosted: HostedEnvironment
):
    answers: list[str] = []

    async def visit() -> None:
        while len(answers) < 400:
            answers.append(await plan.get())

    visitors = [asyncio.create_task(visit()) for _ in range(4)]

    async def are_under_way() -> bool | None:
        return len(answers) >= 100 or None

    await until(are_under_way)
    await hosted.restart()
    await hosted.sleep()
    await asyncio.gather(*visitors)
    assert len(set(answers)) >= 2


async def test_nothing_is_prepared_for_a_container_that_a_visitor_starts_at_this_moment(
    plan: ServerPlan, hosted: HostedEnvironment, monkeypatch: pytest.MonkeyPatch
):
    starting, start = asyncio.Event(), Services.start
    prepared: list[int] = []

    async def start_slowly(*arguments: Any) -> int:
        starting.set()
        pid = await start(*arguments)
        prepared.append(plan.prepared)
        return pid

    monkeypatch.setattr(Services, "start", start_slowly)
    visit = asyncio.create_task(plan.get())
    await starting.wait()
    await hosted.renew()
    assert await visit
    # Afterwards it is compared with what was started.
    assert (prepared, plan.prepared) == ([1], 2)


async def test_it_sleeps_when_nothing_happens_and_a_running_request_keeps_it_awake(
    plan: ServerPlan, services: Services
):
    now = 0.0
    hosted = HostedEnvironment(plan, services, WakeBudget(), clock=lambda: now)
    await hosted.open()
    await plan.get()
    plan.quiet_processes = 0  # as if a request were running
    now = 1000.0
    assert not await hosted.sleep_if_idle(900)
    plan.quiet_processes = 2
    now = 1899.0
    assert not await hosted.sleep_if_idle(900)
    now = 1901.0
    assert await hosted.sleep_if_idle(900)
    assert hosted.state == "asleep"
    await hosted.remove()
    await hosted.close()


async def test_a_process_in_the_background_keeps_nothing_awake_that_nobody_visits(
    plan: ServerPlan, services: Services
):
    now = 0.0
    hosted = HostedEnvironment(plan, services, WakeBudget(), clock=lambda: now)
    await hosted.open()
    await plan.get()
    plan.quiet_processes = 0  # as if something ran in the background
    now = 2000.0
    assert not await hosted.sleep_if_idle(900, visited_ago=100.0)
    assert await hosted.sleep_if_idle(900, visited_ago=901.0)
    assert not cgroups.processes(plan.container.cgroup)
    await hosted.remove()
    await hosted.close()


async def test_work_of_the_node_keeps_it_awake_and_without_visits_it_sleeps_soon_afterwards(
    plan: ServerPlan, services: Services
):
    now = 0.0
    hosted = HostedEnvironment(plan, services, WakeBudget(), clock=lambda: now)
    await hosted.open()
    async with hosted.use():
        assert hosted.state == "awake"
        now = 5000.0
        assert not await hosted.sleep_if_idle(900, visited_ago=6000.0)
    assert await hosted.sleep_if_idle(900, visited_ago=6000.0)
    async with hosted.use():
        now = 5100.0
    assert not await hosted.sleep_if_idle(900, visited_ago=7000.0)
    now = 5200.0
    assert not await hosted.sleep_if_idle(900, visited_ago=150.0)
    now = 5300.0
    assert not await hosted.sleep_if_idle(900, visited_ago=250.0)
    await hosted.remove()
    await hosted.close()


async def test_an_unexpected_error_does_not_leave_it_deaf(
    plan: ServerPlan, hosted: HostedEnvironment, monkeypatch: pytest.MonkeyPatch
):
    async def fail() -> dict[str, object]:
        raise KeyError("unexpected")

    with monkeypatch.context() as patched:
        patched.setattr(plan, "prepare", fail)
        with pytest.raises(OSError):
            await plan.get()
        assert hosted.state == "failing"
    assert await until(lambda: _get_or_none(plan))


async def test_a_suspended_environment_refuses_visitors_until_it_is_resumed(
    plan: ServerPlan, hosted: HostedEnvironment
):
    await plan.get()
    await hosted.suspend()
    with pytest.raises(OSError):
        await plan.get()
    with pytest.raises(WakeFailed, match="suspended"):
        await hosted.wake()
    hosted.resume()
    assert await plan.get()


async def test_a_cancelled_start_leaves_no_process(plan: ServerPlan, hosted: HostedEnvironment):
    waking = asyncio.create_task(hosted.wake())
    await asyncio.sleep(0.03)
    waking.cancel()
    await asyncio.wait({waking})
    if hosted.state != "awake":
        assert not cgroups.processes(plan.container.cgroup)
    assert await plan.get()


async def test_containers_of_unknown_environments_are_ended(
    plan: ServerPlan, services: Services, hosted: HostedEnvironment
):
    await plan.get()
    await hosted.close()
    hosts = Hosts(services, WakeBudget(), idle_seconds=60)
    await hosts.remove_unknown_containers([plan.container.name], plan.directory)
    assert cgroups.processes(plan.container.cgroup)
    await hosts.remove_unknown_containers([], plan.directory)
    assert not cgroups.processes(plan.container.cgroup)
    assert await services.find(ServiceContainer(plan.container.name, plan.directory, plan.log)) is None


async def _get_or_none(plan: ServerPlan) -> str | None:
    try:
        return await plan.get()
    except OSError:
        return None
