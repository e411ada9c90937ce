"""A client that reconnects to any process misses nothing and receives nothing twice."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from stead.dev.engines.nats import Nats
from tests.faults.processes import eventually
from tests.patience import time_limit
from tests.streams.sse import Heard, listening
from tests.streams.stage import Stage

PROMPT = 3.0
AFTER_RESTART = 10.0
"""Seconds within which output continues once NATS is back."""
BURST = 5_000
GARBAGE = [
    *("x", "1", "1.", ".1", "-1.-1", "1.2.3", "0x1.1", "1,1", "1e3.1", "\xb2.\xb2", " ", "a" * 4_000),
    *("99999999999999999999999999.1", "999999999999999999.999999999", "0.999999999", "0.7"),
]
"""Ids that no frame ever had; the last four have at least the right shape."""


async def _walk(
    stage: Stage, job: str, *, seed: int, within: float = 60.0
) -> tuple[list[str], list[object], int]:
    """Follow a job to its end over connections that break at random points, from process to process."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    lines, statuses, last, connections = list[str](), list[object](), "", 0
    async with time_limit(within):
        while True:
            process = (stage.one, stage.two)[connections % 2]
            connections += 1
            wanted = chance.choice([1, 2, 7, 255, 256, 257, chance.randrange(1, 900)])
            async with listening(process.port, job, stage.secret, after=last) as listener:
                heard = await listener.until(lambda heard: len(heard.frames) >= wanted or heard.ended)  # noqa: B023
            heard.forget_after(wanted)
            lines, statuses, last = lines + heard.lines, statuses + heard.statuses, heard.last_id or last
            if heard.done:
                return lines, statuses, connections


@pytest.mark.parametrize("seed", range(4))
async def test_every_line_comes_once_and_in_order_while_the_burst_goes_on(stage: Stage, seed: int):
    job = await stage.job(status="running")
    said = [f"line {n} of {seed}" for n in range(BURST)]

    async def work() -> None:
        await stage.say(job, said)
        await stage.update(job, status="succeeded")

    (lines, statuses, connections), _ = await asyncio.gather(_walk(stage, job, seed=seed), work())
    assert lines == said
    assert connections > 5
    assert [each for each in statuses if each == "running"] == ["running"]
    assert statuses[-1] == "succeeded"


async def test_whoever_comes_after_the_end_goes_on_from_where_it_was(stage: Stage):
    job = await stage.job(status="running")
    said = [f"{n}" for n in range(1_000)]
    await stage.say(job, said)
    await stage.update(job, status="failed")
    async with listening(stage.one.port, job, stage.secret) as listener:
        whole = await listener.to_the_end()
    of_lines = [frame for frame in whole.frames if frame.event == "message"]
    for place in (0, 1, 254, 255, 256, 998, 999):
        async with listening(stage.two.port, job, stage.secret, after=of_lines[place].id) as listener:
            heard = await listener.to_the_end(within=PROMPT)
        assert heard.lines == said[place + 1 :]
        assert (heard.statuses, heard.done) == (["failed"], [{"status": "failed"}])


async def test_whoever_heard_the_end_is_told_it_again_and_nothing_else(stage: Stage):
    job = await stage.job(status="running")
    await stage.say(job, ["hello"])
    await stage.update(job, status="succeeded")
    async with listening(stage.one.port, job, stage.secret) as listener:
        last = (await listener.to_the_end()).last_id
    async with listening(stage.two.port, job, stage.secret, after=last) as listener:
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.lines, heard.done) == ([], [{"status": "succeeded"}])


async def test_a_status_that_was_told_is_not_told_again(stage: Stage):
    job = await stage.job()
    async with listening(stage.one.port, job, stage.secret) as listener:
        last = (await listener.until(lambda heard: heard.statuses == ["queued"], within=PROMPT)).last_id
    await stage.update(job, cancel_sent_at=None)
    async with listening(stage.two.port, job, stage.secret, after=last) as listener:
        await stage.say(job, ["a line"])
        await listener.until(lambda heard: len(heard.lines) == 1, within=PROMPT)
        await stage.update(job, status="running")
        heard = await listener.until(lambda heard: "running" in heard.statuses, within=PROMPT)
    assert heard.statuses == ["running"]


async def test_a_change_that_was_missed_is_told_first(stage: Stage):
    job = await stage.job()
    async with listening(stage.one.port, job, stage.secret) as listener:
        last = (await listener.until(lambda heard: heard.statuses == ["queued"], within=PROMPT)).last_id
    await stage.update(job, status="running")
    async with listening(stage.two.port, job, stage.secret, after=last) as listener:
        heard = await listener.until(lambda heard: bool(heard.frames), within=PROMPT)
    assert heard.statuses == ["running"]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda text: text[:12])
async def test_an_id_that_no_frame_had_begins_at_the_beginning(stage: Stage, garbage: str):
    job = await stage.job(status="running")
    await stage.say(job, ["one", "two"])
    await stage.update(job, status="succeeded")
    async with listening(stage.one.port, job, stage.secret, after=garbage) as listener:
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.lines, heard.done) == (["one", "two"], [{"status": "succeeded"}])


async def test_whoever_leaves_is_forgotten_by_nats(stage: Stage):
    job = await stage.job(status="running")
    await stage.say(job, ["hello"])
    before = await stage.consumers()
    for _ in range(20):
        async with listening(stage.one.port, job, stage.secret) as listener:
            await listener.until(lambda heard: bool(heard.lines), within=PROMPT)

    async def at_rest() -> bool:
        return await stage.consumers() <= before

    await eventually(at_rest, within=10, what="no reader is left of those who left")


async def test_output_goes_on_when_nats_comes_back(stage: Stage):
    job = await stage.job(status="running")
    said = [f"{n}" for n in range(600)]

    def has(number: int) -> Callable[[Heard], bool]:
        return lambda heard: len(heard.lines) >= number

    async with listening(stage.one.port, job, stage.secret) as listener:
        await stage.say(job, said[:300])
        await listener.until(has(300), within=PROMPT)
        await stage.stack.stop(Nats)
        await stage.stack.start(Nats)
        await eventually(_connected(stage), within=10, what="everybody has found NATS again")
        await stage.say(job, said[300:])
        await listener.until(has(600), within=AFTER_RESTART)
        await stage.update(job, status="succeeded")
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.lines, heard.done) == (said, [{"status": "succeeded"}])


async def test_a_job_that_ends_while_nats_is_away_is_not_done_before_its_last_line(stage: Stage):
    job = await stage.job(status="running")
    said = [f"{n}" for n in range(300)]
    await stage.say(job, said)
    lines, last = list[str](), ""

    async def listen(process_port: int) -> Heard:
        async with listening(process_port, job, stage.secret, after=last) as listener:
            return await listener.until(lambda heard: bool(heard.done) or heard.ended, within=AFTER_RESTART)

    await stage.stack.stop(Nats)
    await stage.update(job, status="succeeded")
    listening_now = asyncio.create_task(listen(stage.one.port))
    await asyncio.sleep(1)
    await stage.stack.start(Nats)
    await eventually(_connected(stage), within=10, what="everybody has found NATS again")
    heard = await listening_now
    while True:
        lines, last = lines + heard.lines, heard.last_id or last
        if heard.done:
            break
        heard = await listen(stage.two.port)
    assert lines == said


def _connected(stage: Stage) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        for process in (stage.one, stage.two):
            if not (await process.engines())["nats"]:
                return False
        return stage.node.is_connected and stage.operator.is_connected

    return look
