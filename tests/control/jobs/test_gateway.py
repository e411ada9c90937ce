"""What becomes of a step when the attempt that waits for it is cancelled."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import ValidationError
from nats.aio.msg import Msg

from stead.control.engines.nats import Nats
from stead.control.nodes.gateway import REPORTS_AT_ONCE, Gateway
from stead.protocol.commands import (
    MAX_REPORTED,
    Activity,
    Cancel,
    Command,
    Heartbeat,
    MailReport,
    Result,
    encode,
    read_heartbeat,
    read_order,
    result_kind,
)
from stead.protocol.subjects import report
from stead.protocol.work.hosting import EnsureEnvironment

BOUND = 3.0
"""Shorter than the pause after which a gateway sends a command again."""
COMMAND = Command(
    "node-1", "job_1", "environment", 1, "site_1", "env_1", "simulator", EnsureEnvironment("static")
)


class Acknowledging:
    """What this test needs of NATS: it waits for an acknowledgement like the library does, and the node
    answers a cancellation immediately."""

    def __init__(self) -> None:
        self.gateway = Gateway(cast("Nats", SimpleNamespace(js=self)), _unheard)
        self.sent: list[Any] = []
        self.waits = asyncio.Event()
        self.acknowledgement: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def publish(self, _subject: str, data: bytes) -> None:
        order = read_order(data)
        self.sent.append(order)
        if isinstance(order, Cancel):
            result = Result(order.node, order.job, order.step, order.epoch, "cancelled")
            subject = report(order.node, result_kind(order.job, order.step))
            await self.gateway._receive_result(Msg(cast("Any", None), subject, data=encode(result)))
            return
        self.waits.set()
        await asyncio.wait_for(self.acknowledgement, 60)


class Listening:
    """A gateway that notes which reports it has handled."""

    def __init__(self) -> None:
        self.handled: list[str] = []
        self.gateway = Gateway(cast("Nats", SimpleNamespace()), _unheard, self._handle, self._handle)

    async def _handle(self, report: Activity | MailReport) -> None:
        self.handled.append(report.node)

    async def receive(self, kind: str, report: Activity | MailReport) -> None:
        message = Msg(cast("Any", None), f"node.{report.node}.{kind}", data=encode(report))
        await (self.gateway._receive_mail if kind == "mail" else self.gateway._receive_activity)(message)


async def _unheard(_: Heartbeat) -> None:
    raise AssertionError("no node speaks here")


@pytest.mark.parametrize("acknowledged_first", [True, False])
async def test_a_cancellation_in_the_moment_of_the_acknowledgement_stops_the_step(
    acknowledged_first: bool,
) -> None:
    nats = Acknowledging()
    asking = asyncio.create_task(nats.gateway.run_command(COMMAND, lambda: True))
    await nats.waits.wait()
    # Both before the loop goes on: `asyncio.wait_for` has its result and hides the cancellation behind it.
    if acknowledged_first:
        nats.acknowledgement.set_result(None)
        asking.cancel()
    else:
        asking.cancel()
        nats.acknowledgement.set_result(None)
    done, _ = await asyncio.wait({asking}, timeout=BOUND)
    assert done, "it asks on for what nobody wants"
    assert asking.cancelled()
    assert nats.sent == [COMMAND, Cancel("node-1", "job_1", "environment", 1)]
    assert nats.gateway._waiting == {}


async def test_a_step_goes_on_when_only_the_attempt_ends_that_waits_for_it() -> None:
    nats = Acknowledging()
    asking = asyncio.create_task(nats.gateway.run_command(COMMAND, lambda: False))
    await nats.waits.wait()
    asking.cancel()
    done, _ = await asyncio.wait({asking}, timeout=BOUND)
    assert done
    assert asking.cancelled()
    assert nats.sent == [COMMAND]
    assert nats.gateway._waiting == {}


@pytest.mark.parametrize("kind", ["activity", "mail"])
async def test_a_node_that_floods_reports_does_not_delay_those_of_others(kind: str) -> None:
    def report(node: str) -> Activity | MailReport:
        return MailReport(node, ()) if kind == "mail" else Activity(node, {})

    here = Listening()
    for _ in range(3 * REPORTS_AT_ONCE):
        await here.receive(kind, report("node-evil"))
    await here.receive(kind, report("node-other"))
    # Some more may be allowed while the flood is received.
    assert REPORTS_AT_ONCE <= here.handled.count("node-evil") < 2 * REPORTS_AT_ONCE
    assert here.handled[-1] == "node-other"


async def test_a_report_that_names_too_much_is_not_handled() -> None:
    here = Listening()
    await here.receive("activity", Activity("node-1", {str(number): 0.0 for number in range(MAX_REPORTED)}))
    assert here.handled == ["node-1"]
    await here.receive(
        "activity", Activity("node-1", {str(number): 0.0 for number in range(MAX_REPORTED + 1)})
    )
    assert here.handled == ["node-1"]


@pytest.mark.parametrize("version", ["1.0\x1b[2K", "1" * 65, "1\n"])
def test_the_version_of_a_node_is_short_and_can_be_printed(version: str) -> None:
    with pytest.raises(ValidationError):
        read_heartbeat(encode(Heartbeat("node-1", "us-east", 1, 0, version)))
