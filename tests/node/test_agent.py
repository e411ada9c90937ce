"""An agent process on a real NATS: each attempt is answered once, also repeated, late, old and malformed
ones."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import psutil
import pytest

from stead.dev.running_stack import RunningStack
from stead.node.agent import HEARTBEAT_SECONDS
from stead.protocol import subjects
from stead.protocol.commands import Cancel, Result, encode, read_heartbeat
from stead.protocol.subjects import COMMANDS, Node, Program
from stead.protocol.work.hosting import (
    EnsureEnvironment,
    EnsureRoute,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    SuspendEnvironment,
)
from tests.node.harness import NodeHarness, connected, until
from tests.patience import slowdown

ENSURE = EnsureEnvironment("static")


def newer(order, epoch: int):
    return msgspec.structs.replace(order, epoch=epoch)


def cancel(order, epoch: int | None = None) -> Cancel:
    return Cancel(order.node, order.job, order.step, epoch or order.epoch)


async def test_every_kind_of_work_is_done_and_reported_once(here: NodeHarness) -> None:
    here.start()
    for work in (
        ENSURE,
        EnsureRoute(("shop.example.com",)),
        Probe("shop.example.com"),
        RestartEnvironment("static"),
        SuspendEnvironment("static"),
        RemoveRoute(),
        RemoveEnvironment(),
    ):
        order = here.command(work)
        assert await here.ask(order) == Result(here.node.id, order.job, order.step, 1, "done")
        assert len(await here.results(order)) == 1
        assert here.carried_out(order) == 1
        assert (await here.lines(order.job))[0].startswith("simulator: ")
    assert await here.unacknowledged() == 0


async def test_a_repeated_command_is_answered_again_and_changes_nothing(here: NodeHarness) -> None:
    here.start()
    order = here.command(ENSURE)
    await here.ask(order)
    for _ in range(3):
        await here.send(order)
    await here.until_acknowledged()
    assert here.carried_out(order) == 1
    assert len(await here.results(order)) == 1


async def test_a_repeated_command_gets_the_result_again(here: NodeHarness) -> None:
    here.start()
    order = here.command(ENSURE)
    await here.ask(order)
    heard = await here.operator.subscribe(subjects.reports_of(here.node.id))
    await here.send(order)
    assert (await heard.next_msg(timeout=5)).subject.endswith(f"{order.job}-{order.step}")


async def test_a_later_attempt_gets_the_recorded_result_immediately(here: NodeHarness) -> None:
    here.start()
    order = here.command(Probe("nobody.example.com"))
    assert (await here.ask(order)).code == "deploy.unhealthy"
    again = await here.ask(newer(order, 7))
    assert (again.epoch, again.outcome, again.code) == (7, "refused", "deploy.unhealthy")
    assert here.carried_out(order) == 1


async def test_a_later_attempt_joins_the_running_step_and_an_earlier_one_is_stale(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="2")
    order = here.command(ENSURE, epoch=2)
    await here.send(order)
    running = await here.under_way()
    await here.send(newer(order, 3))
    await here.send(newer(order, 1))
    assert (await here.result(newer(order, 1))).outcome == "stale"
    assert running.is_running()
    assert (await here.result(newer(order, 3))).outcome == "done"
    assert [(it.epoch, it.outcome) for it in await here.results(order)] == [(1, "stale"), (3, "done")]
    assert here.carried_out(order) == 1
    assert (await here.ask(newer(order, 2))).outcome == "stale"


async def test_commands_run_concurrently(here: NodeHarness) -> None:
    each, count = 4, 8
    here.start(STEAD_SIMULATOR_SECONDS=str(each))
    orders = [here.command(ENSURE, environment=f"env_{number}") for number in range(count)]
    began = time.monotonic()
    for order in orders:
        await here.send(order)
    assert {(await here.result(order)).outcome for order in orders} == {"done"}
    assert time.monotonic() - began < count * each / 2


async def test_no_process_of_a_command_runs_when_its_cancellation_is_reported(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="60")
    order = here.command(ENSURE)
    await here.send(order)
    running = await here.under_way()
    await here.send(cancel(order))
    result = await here.result(order)
    assert result.outcome == "cancelled"
    assert not psutil.pid_exists(running.pid)
    assert len(await here.results(order)) == 1
    assert not (here.data / "simulator" / "environments" / "env_1").exists()
    assert (await here.ask(cancel(order, 2))).outcome == "cancelled"


async def test_cancelling_a_finished_step_reports_the_recorded_result(here: NodeHarness) -> None:
    here.start()
    order = here.command(ENSURE)
    await here.ask(order)
    assert (await here.ask(cancel(order, 2))).outcome == "done"


async def test_a_command_that_arrives_after_its_cancellation_is_not_executed(here: NodeHarness) -> None:
    here.start()
    order = here.command(ENSURE, epoch=3)
    assert (await here.ask(cancel(order))).outcome == "cancelled"
    await here.send(order)
    await here.send(newer(order, 2))
    assert (await here.result(newer(order, 2))).outcome == "stale"
    assert here.carried_out(order) == 0
    assert not (here.data / "simulator" / "environments" / "env_1").exists()
    assert (await here.ask(newer(order, 4))).outcome == "done"


async def test_a_cancellation_of_an_earlier_attempt_does_not_stop_a_later_one(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="1.5")
    order = here.command(ENSURE, epoch=2)
    await here.send(order)
    await here.under_way()
    assert (await here.ask(cancel(order, 1))).outcome == "stale"
    assert (await here.result(order)).outcome == "done"


async def test_a_command_that_takes_too_long_is_stopped_with_its_processes(
    here: NodeHarness,
) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="60")
    order = msgspec.structs.replace(here.command(ENSURE), seconds=1.0)
    await here.send(order)
    running = await here.under_way()
    result = await here.result(order)
    assert (result.outcome, result.code) == ("refused", "job.timeout")
    assert not psutil.pid_exists(running.pid)


async def test_the_simulator_fails_where_it_is_configured_to(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_FAIL_AT="restart_environment")
    (here.data / "simulator").mkdir(exist_ok=True)

    told = here.command(EnsureRoute(("www.example.com", "fail-at-ensure-route.example.com")))
    assert (await here.ask(told)).code == "sandbox.told_to_fail"

    setting = here.command(RestartEnvironment("static"))
    assert (await here.ask(setting)).code == "sandbox.told_to_fail"

    probe = here.command(EnsureRoute(("fail-at-remove-environment.example.com",)), environment="env_2")
    assert (await here.ask(probe)).outcome == "done"
    recorded = here.command(RemoveEnvironment(), environment="env_2")
    assert (await here.ask(recorded)).code == "sandbox.told_to_fail"

    one, other = here.command(ENSURE), here.command(ENSURE)
    (here.data / "simulator" / "fail-at").write_text(f"ensure_environment  {one.job}\nremove_route\n")
    assert (await here.ask(one)).code == "sandbox.told_to_fail"
    assert (await here.ask(other)).outcome == "done"
    assert (await here.ask(here.command(RemoveRoute()))).code == "sandbox.told_to_fail"
    (here.data / "simulator" / "fail-at").unlink()
    assert (await here.ask(here.command(RemoveRoute()))).outcome == "done"


async def test_the_simulator_holds_a_step_until_its_process_is_killed(here: NodeHarness) -> None:
    here.start()
    (here.data / "simulator").mkdir(exist_ok=True)
    held, other = here.command(ENSURE), here.command(ENSURE)
    (here.data / "simulator" / "hold-at").write_text(f"{held.job} {held.step}\n{held.job} another-step\n")
    await here.send(held)
    process = await here.under_way()
    assert (await here.ask(other)).outcome == "done"
    assert process.is_running()
    process.kill()
    assert (await here.result(held)).outcome == "done"
    assert here.carried_out(held) == 1


async def test_work_for_an_unsupported_runtime_is_refused(here: NodeHarness) -> None:
    here.start(STEAD_NODE_KEY="")
    result = await here.ask(here.command(EnsureEnvironment("wasm"), driver="live"))
    assert (result.outcome, result.code) == ("refused", "runtime.unsupported")


async def test_malformed_orders_and_orders_for_other_nodes_are_refused_and_not_redelivered(
    here: NodeHarness,
) -> None:
    here.start()
    foreign = msgspec.structs.replace(here.command(ENSURE), node="somebody-else")
    unspeakable = here.command(ENSURE, job="job.*.>")
    for order in (b"", b"{}", b"\xc1garbage", encode(foreign), encode(unspeakable), encode(["command"])):
        await here.send(order)
    assert (await here.ask(here.command(ENSURE))).outcome == "done"
    await here.until_acknowledged()
    info = await here.operator.jetstream().consumer_info(COMMANDS, here.node.id)
    assert info.num_redelivered == 0
    assert here.carried_out(foreign) == 0
    assert here.log.count("order.refused") == 6


async def test_heartbeats_report_environments_running_steps_and_supported_work(here: NodeHarness) -> None:
    heard = await here.operator.subscribe(subjects.heartbeat(here.node.id))
    await here.operator.flush()
    here.start(
        STEAD_NODE_REGION="eu-north",
        STEAD_NODE_CAPACITY="7",
        STEAD_SIMULATOR_SECONDS="3",
        STEAD_NODE_KEY="",
    )
    first = read_heartbeat((await heard.next_msg(timeout=15)).data)
    assert (first.node, first.region, first.capacity, first.carrying) == (here.node.id, "eu-north", 7, 0)
    assert first.version
    assert first.runtimes == ("static",)
    assert {"ensure_environment", "ensure_release", "probe"} <= set(first.work)
    assert "ensure_route" not in first.work

    order = here.command(ENSURE)
    await here.send(order)
    await here.under_way()
    began = time.monotonic()
    busy = read_heartbeat((await heard.next_msg(timeout=5)).data)
    assert time.monotonic() - began < 2 * HEARTBEAT_SECONDS * slowdown()
    assert busy.running == (f"{order.job}/{order.step}",)
    await here.result(order)

    async def carrying() -> bool | None:
        beat = read_heartbeat((await heard.next_msg(timeout=5)).data)
        return (beat.carrying, beat.running) == (1, ()) or None

    await until(carrying)


async def test_a_node_cannot_read_the_orders_of_another_node_or_report_in_its_name(
    here: NodeHarness, nats_stack: RunningStack
) -> None:
    """With the agent's own login, which is what an attacker on the node would have."""
    told: list[str] = []

    async def on_error(error: Exception) -> None:
        told.append(str(error).lower())

    async def refused(subject: str, *, by: Callable[..., Awaitable[object]]) -> bool | None:
        await by(subject)
        await client.flush()
        violations = [each for each in told if "permissions violation" in each]
        return any(subject.lower() in each for each in violations) or None

    await nats_stack.add_node("victim")
    async with connected(nats_stack, here.node) as client:
        client._error_cb = on_error
        for subject in (
            subjects.report("victim", "job-step"),
            subjects.heartbeat("victim"),
            subjects.job_output("job_1", Node("victim")),
            subjects.command("victim", "command"),
            f"$JS.API.CONSUMER.MSG.NEXT.{COMMANDS}.victim",
        ):
            await until(partial(refused, subject, by=client.publish))
        await until(partial(refused, subjects.commands_of("victim"), by=client.subscribe))


async def test_a_node_waits_until_the_worker_has_created_its_consumer(
    here: NodeHarness, nats_stack: RunningStack
) -> None:
    jetstream = here.operator.jetstream()
    config = (await jetstream.consumer_info(COMMANDS, here.node.id)).config
    await jetstream.delete_consumer(COMMANDS, here.node.id)
    here.start()
    order = here.command(ENSURE)
    await here.send(order)
    await asyncio.sleep(2)
    async with connected(nats_stack, Program.WORKER) as worker:
        await worker.jetstream().add_consumer(COMMANDS, config)
    assert (await here.result(order)).outcome == "done"


@pytest.mark.parametrize("missing", ["STEAD_NODE_ID", "STEAD_NATS_PASSWORD", "STEAD_EDGE_ADDRESS"])
async def test_a_missing_setting_is_named(here: NodeHarness, missing: str) -> None:
    here.settings.pop(missing)
    here.start()
    assert here.process is not None
    assert await asyncio.to_thread(here.process.wait, 20) == 1
    assert missing.removeprefix("STEAD_").lower() in here.log


async def test_two_agents_cannot_use_the_same_journal(here: NodeHarness) -> None:
    here.start()
    await here.ask(here.command(ENSURE))
    here.start()
    assert here.process is not None
    assert await asyncio.to_thread(here.process.wait, 20) == 1
    assert "another agent runs" in here.log
