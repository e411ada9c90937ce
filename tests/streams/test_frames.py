"""The frames that a client of a job's stream receives."""

import asyncio
import re

import pytest

from tests.streams.sse import listening
from tests.streams.stage import Stage

PROMPT = 3.0
"""Seconds within which a change appears in the stream."""
RESULT = {"url": "http://a.example/", "deployment_id": "dep_1"}
AWKWARD = [
    "",
    " an indented line ",
    "data: looks like a field",
    "event: done",
    ": looks like a comment",
    "id: 99.99",
    "zwei Ümläute, 日本語, 🚀,  and \u0085",
    "tab\tand \x1b[31mred\x1b[0m",
    "x" * 8_000,
]
HOSTILE = [
    "10 %\r100 %\r\rdone",
    'x\revent: done\rdata: {"status": "succeeded"}\r\r',
    'x\r\revent: job\rdata: {"id": "job_forged"}\r\rid: 0.0\r',
    "the end of a line on Windows\r",
]


async def test_a_line_comes_as_soon_as_it_is_written(stage: Stage):
    job = await stage.job(status="running")
    async with listening(stage.one.port, job, stage.secret) as listener:
        await listener.until(lambda heard: heard.statuses == ["running"], within=PROMPT)
        for number in range(3):
            await stage.say(job, [f"line {number}"])
            await listener.until(lambda heard: len(heard.lines) == number + 1, within=PROMPT)  # noqa: B023
        assert listener.heard.lines == ["line 0", "line 1", "line 2"]


async def test_every_status_is_told_once_and_the_end_by_name(stage: Stage):
    job = await stage.job()
    async with listening(stage.one.port, job, stage.secret) as listener:
        await listener.until(lambda heard: heard.statuses == ["queued"], within=PROMPT)
        await stage.update(job, dispatched_at=None)
        await stage.update(job, status="running")
        await listener.until(lambda heard: heard.statuses == ["queued", "running"], within=PROMPT)
        await stage.say(job, ["hello"])
        await stage.update(job, status="succeeded", result=RESULT)
        heard = await listener.to_the_end(within=PROMPT)
    assert heard.statuses == ["queued", "running", "succeeded"]
    assert [(each["progress"], each["id"], each["type"]) for each in heard.jobs] == [
        (progress, job, "site.restart") for progress in (0, 0.5, 1)
    ]
    assert [each["result"] for each in heard.jobs] == [None, None, RESULT]
    assert heard.done == [{"status": "succeeded"}]
    assert [frame.event for frame in heard.frames] == ["job", "job", "message", "job", "done"]


async def test_a_failure_is_told_with_its_error(stage: Stage):
    job = await stage.job(status="running")
    error = {"type": "conflict", "code": "job.cancelled", "message": "It was.", "doc_url": "http://d/"}
    async with listening(stage.one.port, job, stage.secret) as listener:
        await listener.until(lambda heard: heard.statuses == ["running"], within=PROMPT)
        await stage.update(job, status="failed", error=error)
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.jobs[-1]["error"], heard.jobs[-1]["result"]) == (error, None)
    assert heard.done == [{"status": "failed"}]


async def test_every_frame_has_an_id_and_the_first_says_when_to_come_again(stage: Stage):
    job = await stage.job(status="running")
    await stage.say(job, [f"{n}" for n in range(20)])
    await stage.update(job, status="succeeded")
    async with listening(stage.one.port, job, stage.secret) as listener:
        heard = await listener.to_the_end()
    assert heard.retry == "2000"
    assert heard.headers["content-type"] == "text/event-stream"
    assert (
        "no-cache" in heard.headers.get("cache-control", "") or "no-store" in heard.headers["cache-control"]
    )
    assert all(re.fullmatch(r"\d+\.\d+", frame.id) for frame in heard.frames)
    of_lines = [frame.id for frame in heard.frames if frame.event == "message"]
    assert len(set(of_lines)) == 20


@pytest.mark.parametrize("lines", [AWKWARD, HOSTILE], ids=["awkward", "hostile"])
async def test_whatever_a_line_says_it_is_only_data(stage: Stage, lines: list[str]):
    job = await stage.job(status="running")
    await stage.say(job, lines)
    await stage.update(job, status="failed")
    async with listening(stage.one.port, job, stage.secret) as listener:
        heard = await listener.to_the_end()
    assert [frame.event for frame in heard.frames] == [*["message"] * len(lines), "job", "done"]
    assert heard.done == [{"status": "failed"}]
    assert [job["id"] for job in heard.jobs] == [job]
    # An end of line within a line, of whatever kind, comes as the one kind there is.
    assert heard.lines == [re.sub("\r\n|\r", "\n", line) for line in lines]


async def test_a_text_of_several_lines_is_one_frame(stage: Stage):
    job = await stage.job(status="succeeded")
    await stage.say(job, ["one\ntwo\n\nfour\n", "\n"])
    async with listening(stage.one.port, job, stage.secret) as listener:
        assert (await listener.to_the_end()).lines == ["one\ntwo\n\nfour\n", "\n"]


async def test_the_output_is_there_after_the_job_and_for_everybody(stage: Stage):
    job = await stage.job(status="running")
    said = [f"{n}" for n in range(700)]
    await stage.say(job, said)
    await stage.update(job, status="succeeded")
    for _ in range(2):
        for process in (stage.one, stage.two):
            async with listening(process.port, job, stage.secret) as listener:
                heard = await listener.to_the_end(within=PROMPT)
            assert (heard.lines, heard.statuses, len(heard.done)) == (said, ["succeeded"], 1)


async def test_a_job_without_output_ends_at_once(stage: Stage):
    job = await stage.job(status="failed")
    async with listening(stage.one.port, job, stage.secret) as listener:
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.lines, heard.statuses, heard.done) == ([], ["failed"], [{"status": "failed"}])


async def test_one_job_hears_nothing_of_another(stage: Stage):
    mine, other = await stage.job(status="running"), await stage.job(status="running")
    async with listening(stage.one.port, mine, stage.secret) as listener:
        await listener.until(lambda heard: bool(heard.statuses), within=PROMPT)
        await stage.say(other, ["not yours"])
        await stage.update(other, status="succeeded")
        await stage.say(mine, ["yours"])
        await stage.update(mine, status="failed")
        heard = await listener.to_the_end(within=PROMPT)
    assert (heard.lines, heard.done) == (["yours"], [{"status": "failed"}])


async def test_the_job_of_another_tenant_does_not_exist(stage: Stage):
    stranger = await stage.world.person(stage.one)
    job = await stage.job(status="running", account=stranger.id)
    await stage.say(job, ["a secret"])
    for wanted in (job, job[:-1] + ("0" if job[-1] != "0" else "1"), "job_x", "nonsense"):
        async with listening(stage.one.port, wanted, stage.secret) as listener:
            heard = await listener.to_the_end()
        assert (heard.status, heard.frames) == (404, [])
        assert b"job.not_found" in heard.body


async def test_a_stream_needs_the_scope(stage: Stage):
    person = await stage.world.person(stage.one)
    job = await stage.job(account=person.id)
    async with listening(stage.one.port, job, await person.secret("sites:read")) as listener:
        heard = await listener.to_the_end()
    assert (heard.status, b"jobs:read" in heard.body) == (403, True)


async def test_a_caller_of_an_older_version_is_told_the_older_shape(stage: Stage):
    job = await stage.job(status="running")
    await stage.update(job, status="succeeded", result=RESULT)
    async with listening(stage.one.port, job, stage.secret, version="2026-07-02") as listener:
        heard = await listener.to_the_end()
    assert heard.headers["api-version"] == "2026-07-02"
    assert heard.jobs[-1]["result"] == {"url": RESULT["url"]}


async def test_a_stream_and_the_job_read_at_once_tell_the_same(stage: Stage):
    job = await stage.job(status="running")
    await stage.update(job, status="succeeded", result=RESULT)
    async with listening(stage.two.port, job, stage.secret) as listener:
        heard, read = await asyncio.gather(
            listener.to_the_end(), stage.two.as_(stage.secret).get(f"/v1/jobs/{job}")
        )
    assert heard.jobs == [read.json()["data"]]
