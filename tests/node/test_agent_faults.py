"""When the agent is killed or NATS is down, nothing is lost and nothing runs twice at the same time."""

import asyncio
import signal
import sys

import psutil

from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Cancel
from stead.protocol.streams import commands_consumer
from stead.protocol.work.hosting import EnsureEnvironment, RemoveRoute
from tests.faults.jobs.programs import python_path
from tests.node.harness import BOUND, NodeHarness, until

ENSURE = EnsureEnvironment("static")
WATCHED = (sys.executable, "-m", "tests.node.watched_agent")
SLOW = {"STEAD_SIMULATOR_SECONDS": "2"}


def ended(process: psutil.Process) -> bool:
    """A zombie counts as ended."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def test_a_killed_agent_finishes_its_command_after_a_restart_and_reports_once(
    here: NodeHarness,
) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="30")
    order = here.command(ENSURE)
    await here.send(order)
    orphan = await here.under_way()
    assert await here.unacknowledged() == 0
    await here.kill()
    assert orphan.is_running()

    here.start(**SLOW)
    resumed = await here.under_way()
    assert ended(orphan)
    assert resumed.pid != orphan.pid
    assert (await here.result(order)).outcome == "done"
    assert len(await here.results(order)) == 1
    assert here.carried_out(order) == 2
    assert (here.data / "simulator" / "environments" / "env_1").exists()


async def test_an_agent_that_is_killed_repeatedly_finishes_its_command(here: NodeHarness) -> None:
    orders = [here.command(ENSURE, environment=f"env_{number}") for number in range(5)]
    for order in orders:
        await here.send(order)
    for _ in range(4):
        here.start(STEAD_SIMULATOR_SECONDS="30")
        await here.under_way()
        await here.kill()
    here.start()
    # An order that was not acknowledged when the agent was killed is delivered again after this time.
    again = commands_consumer(here.node).ack_wait.total_seconds()
    for order in orders:
        assert (await here.result(order, bound=BOUND + again)).outcome == "done"
        assert len(await here.results(order)) == 1


async def test_an_agent_stops_immediately_and_resumes_at_the_next_start(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="60")
    order = here.command(ENSURE)
    await here.send(order)
    running = await here.under_way()
    assert await here.stop() == 0
    assert ended(running)
    assert await here.results(order) == []
    here.start()
    assert (await here.result(order)).outcome == "done"
    assert len(await here.results(order)) == 1


async def test_commands_end_before_what_they_use_is_closed(here: NodeHarness) -> None:
    """A disk that a command reads cannot be unmounted: it would stay after the end of the node."""
    here.start(agent=WATCHED, PYTHONPATH=python_path())
    await here.send(here.command(RemoveRoute(), driver="live"))

    async def has_begun() -> bool | None:
        return "work.begun" in here.log or None

    await until(has_begun)
    assert await here.stop() == 0
    assert '"working":0,"event":"driver.closed"' in here.log


async def test_an_interrupted_cancellation_is_reported_after_the_restart(here: NodeHarness) -> None:
    """The process ignores SIGTERM, so the agent is still waiting when it is killed."""
    here.start(STEAD_SIMULATOR_SECONDS="60")
    order = here.command(ENSURE)
    await here.send(order)
    running = await here.under_way()
    running.send_signal(signal.SIGSTOP)
    await here.send(Cancel(order.node, order.job, order.step, order.epoch))
    await here.until_acknowledged()
    await here.kill()
    here.start()
    assert (await here.result(order)).outcome == "cancelled"
    assert ended(running)
    assert here.carried_out(order) == 1
    assert not (here.data / "simulator" / "environments" / "env_1").exists()


async def test_a_restart_of_nats_during_a_command_loses_nothing(
    alone: tuple[RunningStack, NodeHarness],
) -> None:
    stack, here = alone
    here.start(**SLOW)
    order = here.command(ENSURE)
    await here.send(order)
    await here.under_way()
    await stack.kill(Nats)
    await stack.start(Nats)
    assert (await here.result(order)).outcome == "done"
    following = here.command(ENSURE)
    assert (await here.ask(following)).outcome == "done"
    for each in (order, following):
        assert len(await here.results(each)) == 1
        assert here.carried_out(each) == 1
        assert len(await here.lines(each.job)) == 1


async def test_a_result_from_while_nats_was_down_is_reported_after_a_restart(
    alone: tuple[RunningStack, NodeHarness],
) -> None:
    stack, here = alone
    here.start(STEAD_SIMULATOR_SECONDS="5")
    order = here.command(ENSURE)
    await here.send(order)
    await here.under_way()
    await stack.stop(Nats)
    await here.ended(order)
    await here.kill()
    here.start()
    await stack.start(Nats)
    assert (await here.result(order)).outcome == "done"
    assert len(await here.results(order)) == 1
    assert here.carried_out(order) == 1


async def test_an_agent_that_starts_before_nats_waits_for_it(alone: tuple[RunningStack, NodeHarness]) -> None:
    stack, here = alone
    order = here.command(ENSURE)
    await here.send(order)
    await stack.stop(Nats)
    here.start()
    await asyncio.sleep(2)
    await stack.start(Nats)
    assert (await here.result(order)).outcome == "done"


async def test_a_rejected_agent_connects_once_it_is_admitted(
    alone: tuple[RunningStack, NodeHarness],
) -> None:
    """After a changed password the client library closes the connection and does not reconnect."""
    stack, here = alone
    here.start()
    await here.ask(here.command(ENSURE))
    name = here.settings["STEAD_NATS_USER"]
    right = stack.secrets.passwords("nats")[name]
    for password in ("another", right):
        await stack.stop(Nats)
        stack.secrets.passwords("nats")[name] = password
        stack[Nats].write_config()
        await stack.start(Nats)
        await asyncio.sleep(1.5)
    assert (await here.ask(here.command(ENSURE))).outcome == "done"
