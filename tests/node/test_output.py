"""The lines of a job arrive in order, masked and complete, with little memory."""

import asyncio
import time
from pathlib import Path

import psutil
import pytest
from nats.js.api import DiscardPolicy

from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.node import output_budget
from stead.node.nats_connection import NatsConnection
from stead.node.output import LINE_COST_BYTES, JobOutput, RateLimit
from stead.node.output_budget import (
    LEAST_BYTES,
    LINE_BYTES,
    MAX_BYTES,
    RESERVE_BYTES,
    OutputBudget,
    OutputLedger,
)
from stead.protocol import subjects
from stead.protocol.commands import read_line
from stead.protocol.subjects import OUTPUT
from stead.shared.ids import new_id
from tests.node.harness import NodeHarness
from tests.patience import time_limit

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
    short, long = [str(number) for number in range(1100)], ["x" * 8192] * 30
    for lines in short, long:
        cost = sum(1 + len(line) // LINE_COST_BYTES for line in lines)
        began = time.monotonic()
        async with JobOutput(link, here.node, new_id("job"), rate=RateLimit(1000, 100)) as output:
            for line in lines:
                await output.say(line)
            assert time.monotonic() - began > (cost - 100) / 1000 > 0.8


async def test_closing_the_output_does_not_wait_for_ever_for_nats(
    alone: tuple[RunningStack, NodeHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, here = alone
    # So that the test need not wait as long as the limit that ships.
    monkeypatch.setattr("stead.node.output.DRAIN_SECONDS", 1.0)
    link = NatsConnection(here.as_settings())
    async with link.keep_open():
        await link.client()
        await stack.stop(Nats)
        async with time_limit(5), JobOutput(link, here.node, "job_1") as output:
            await output.say("lost")


LINE = b"x" * 4095 + b"\n"


async def test_a_job_stores_no_more_than_its_limit_and_says_how_much_was_cut(
    here: NodeHarness, link: NatsConnection
) -> None:
    job, count = new_id("job"), 2 * MAX_BYTES // len(LINE)
    async with JobOutput(link, here.node, job, rate=unbounded()) as output:
        for _ in range(count):
            await output.chunk("stdout", LINE)
        await output.say("refused: the build was too loud")
    *lines, limit, reason, cut = await here.lines(job)
    stored = len(lines)
    assert stored == MAX_BYTES // (len(LINE) - 1 + LINE_BYTES)
    assert limit == "output: the limit of 16 MiB is reached; further lines are not stored"
    assert reason == "refused: the build was too loud"
    assert cut == f"output: {count - stored} lines with {(count - stored) * (len(LINE) - 1)} bytes were cut"


async def test_the_lines_of_the_node_itself_are_limited_too(here: NodeHarness, link: NatsConnection) -> None:
    job, budget = new_id("job"), OutputBudget(max_bytes=4096)
    async with JobOutput(link, here.node, job, rate=unbounded(), budget=budget) as output:
        for _ in range(200):
            await output.say("x" * 1000)
    assert sum(len(line) + LINE_BYTES for line in await here.lines(job)) <= 4096 + RESERVE_BYTES


async def test_a_command_that_is_executed_again_gets_no_new_limit(
    here: NodeHarness, link: NatsConnection, tmp_path: Path
) -> None:
    job, attempts = new_id("job"), 4
    for _ in range(attempts):
        ledger = OutputLedger(tmp_path / "output.sqlite")
        async with JobOutput(link, here.node, job, rate=unbounded(), budget=ledger.budget(job)) as output:
            for _ in range(MAX_BYTES // len(LINE) // 2):
                await output.chunk("stdout", LINE)
        ledger.close()
    stored = sum(len(line) + LINE_BYTES for line in await here.lines(job))
    assert MAX_BYTES * 0.9 < stored <= MAX_BYTES + RESERVE_BYTES


async def test_a_site_cannot_replace_the_output_of_others_with_many_jobs(
    here: NodeHarness, link: NatsConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_budget, "SITE_BYTES", 64 << 10)
    monkeypatch.setattr(output_budget, "_current_day", lambda: 20_000)
    ledger, loud, other = OutputLedger(tmp_path / "output.sqlite"), new_id("site"), new_id("site")

    async def write(site: str) -> list[str]:
        job, budget = new_id("job"), ledger.budget(new_id("job"), site)
        async with JobOutput(link, here.node, job, rate=unbounded(), budget=budget) as output:
            for _ in range(40):
                await output.chunk("stdout", b"x" * 1023 + b"\n")
            await output.say("the reason of a failure")
        return await here.lines(job)

    first, second, third = [await write(loud) for _ in range(3)]
    assert len(first) == 41
    assert len(second) < 40
    assert len([line for line in third if line.startswith("x")]) == LEAST_BYTES // (1023 + LINE_BYTES)
    assert third[-3].endswith("in a day for all jobs of the site is reached; further lines are not stored")
    assert third[-2] == "the reason of a failure"
    assert len(await write(other)) == 41
    ledger.close()
    # Restarting the agent does not help.
    ledger = OutputLedger(tmp_path / "output.sqlite")
    assert len(await write(loud)) == len(third)
    yesterday = ledger._database.execute("update output_of_sites set day = day - 1")
    assert yesterday.rowcount == 2
    assert len(await write(loud)) == 41
    ledger.remove_old()
    assert ledger._database.execute("select count(*) from output_of_sites").fetchone() == (1,)
    ledger.close()


async def test_a_server_that_refuses_output_does_not_hold_up_the_job(
    alone: tuple[RunningStack, NodeHarness],
) -> None:
    _, here = alone
    link, jetstream = NatsConnection(here.as_settings()), here.operator.jetstream()
    config = (await jetstream.stream_info(OUTPUT)).config
    await jetstream.update_stream(config.evolve(max_bytes=4096, discard=DiscardPolicy.NEW))
    async with link.keep_open():
        await link.client()
        async with time_limit(20), JobOutput(link, here.node, "job_1") as output:
            for number in range(2000):
                await output.chunk("stdout", b"%d %s" % (number, LINE))
    assert len(await here.lines("job_1")) < 10
