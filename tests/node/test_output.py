"""The lines of a job arrive in order, masked and complete, with little memory."""

import asyncio
import time

import psutil
import pytest

from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.node.nats_connection import NatsConnection
from stead.node.output import JobOutput, RateLimit
from stead.protocol import subjects
from stead.protocol.commands import read_line
from stead.shared.ids import new_id
from tests.node.harness import NodeHarness

FREE = 1_000_000


def unbounded() -> RateLimit:
    return RateLimit(FREE, FREE)


@pytest.fixture
async def link(here: NodeHarness):
    link = NatsConnection(here.as_settings())
    async with link.keep_open():
        yield link


async def test_lines_are_stored_in_order_masked_and_with_their_stream(
    here: NodeHarness, link: NatsConnection
) -> None:
    job = new_id("job")
    async with JobOutput(link, here.node, job, secrets=["hunter22"]) as output:
        await output.say("the key is hunter22")
        await output.chunk("stdout", b"one\ntwo hun")
        await output.chunk("stderr", b"oops\n")
        await output.chunk("stdout", b"ter22\nthr")
        await output.chunk("stdout", b"")
        await output.chunk("stderr", b"")
    kept = [read_line(data) for data in await here.kept(subjects.output_of(job))]
    assert [(line.stream, line.text) for line in kept] == [
        ("stdout", "the key is •••"),
        ("stdout", "one"),
        ("stderr", "oops"),
        ("stdout", "two •••"),
        ("stdout", "thr"),
    ]


async def test_a_line_can_be_read_before_the_job_ends(here: NodeHarness, link: NatsConnection) -> None:
    job = new_id("job")
    reading = await here.operator.jetstream().subscribe(subjects.output_of(job), ordered_consumer=True)
    async with JobOutput(link, here.node, job) as output:
        await output.say("first")
        assert read_line((await reading.next_msg(timeout=5)).data).text == "first"


async def test_a_hundred_thousand_lines_arrive_in_order_with_limited_memory(
    here: NodeHarness, link: NatsConnection
) -> None:
    job, count = new_id("job"), 100_000
    await link.client()
    before = psutil.Process().memory_info().rss
    async with JobOutput(link, here.node, job, rate=unbounded()) as output:
        for start in range(0, count, 1000):
            lines = "".join(f"line {number} of the build\n" for number in range(start, start + 1000))
            await output.chunk("stdout", lines.encode())
    assert psutil.Process().memory_info().rss - before < 32 * 1024 * 1024
    assert await here.lines(job) == [f"line {number} of the build" for number in range(count)]


async def test_a_restart_of_nats_loses_and_reorders_no_lines(
    alone: tuple[RunningStack, NodeHarness],
) -> None:
    stack, here = alone
    job, count, link = new_id("job"), 20_000, NatsConnection(here.as_settings())

    async def write() -> None:
        async with JobOutput(link, here.node, job, rate=RateLimit(4000, 100)) as output:
            for number in range(count):
                await output.chunk("stdout", f"{number}\n".encode())

    async with link.keep_open():
        writing = asyncio.create_task(write())
        for end in (stack.kill, stack.stop):
            await asyncio.sleep(1)
            await end(Nats)
            assert not writing.done()
            await asyncio.sleep(0.5)
            await stack.start(Nats)
        await writing
    assert [int(line) for line in await here.lines(job)] == list(range(count))


async def test_the_writer_waits_while_nats_is_down(alone: tuple[RunningStack, NodeHarness]) -> None:
    stack, here = alone
    link, written = NatsConnection(here.as_settings()), 0

    async def write() -> None:
        nonlocal written
        async with JobOutput(link, here.node, "job_1", rate=unbounded()) as output:
            for number in range(5000):
                await output.say(str(number))
                written += 1

    async with link.keep_open():
        await link.client()
        await stack.stop(Nats)
        writing = asyncio.create_task(write())
        await asyncio.sleep(2)
        assert written < 1000
        await stack.start(Nats)
        await writing
    assert len(await here.lines("job_1")) == 5000


async def test_one_job_cannot_write_faster_than_its_rate(here: NodeHarness, link: NatsConnection) -> None:
    job, began = new_id("job"), time.monotonic()
    async with JobOutput(link, here.node, job, rate=RateLimit(1000, 100)) as output:
        for number in range(1100):
            await output.say(str(number))
        assert time.monotonic() - began > 0.9
        before = time.monotonic()
        await output.say("x" * 8192)
        await output.say("after")
        assert time.monotonic() - before > 0.02


async def test_closing_the_output_does_not_wait_for_ever_for_nats(
    alone: tuple[RunningStack, NodeHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, here = alone
    monkeypatch.setattr("stead.node.output.DRAIN_SECONDS", 1.0)
    link = NatsConnection(here.as_settings())
    async with link.keep_open():
        await link.client()
        await stack.stop(Nats)
        async with asyncio.timeout(5), JobOutput(link, here.node, "job_1") as output:
            await output.say("lost")
