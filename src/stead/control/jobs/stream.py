"""A job as server-sent events: output lines, state changes, and the end.

A frame's id is `<output position>.<job revision>`: all that is needed to go on from it, on any API process.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from stead.control.jobs import service
from stead.control.jobs.rules import FINAL
from stead.control.jobs.schema import JobView
from stead.control.platform.job_output import Lines, Reader
from stead.control.platform.live import Live
from stead.control.platform.operations import Stream

KEEP_ALIVE_SECONDS = 15.0
_encode = msgspec.json.encode


class Position(msgspec.Struct):
    line: int = 0
    revision: int = 0

    @classmethod
    def read(cls, last_event_id: str) -> "Position":
        """Whatever is not an id of ours begins at the beginning."""
        line, _, revision = last_event_id.partition(".")
        if line.isascii() and line.isdigit() and revision.isascii() and revision.isdigit():
            return cls(int(line[:18]), int(revision[:9]))
        return cls()


def follow(live: Live, job: str, last_event_id: str) -> Stream:
    return Stream(_frames(live, job, Position.read(last_event_id)))


async def _frames(live: Live, job: str, at: Position) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    told = None
    with live.notices.watching(job) as changed:
        async with live.output.reader(job, at.line) as reader:
            reading = asyncio.create_task(reader.next())
            try:
                while True:
                    changed.clear()
                    state = await _state(live, job, at)
                    if state is not None and state.status in FINAL:
                        break
                    if state is not None and state.status != told:
                        told = state.status
                        yield _frame(at, _encode(state), event=b"job")
                    if not await _happens(reading, changed):
                        yield b": still here\n\n"
                    if reading.done():
                        lines = reading.result()
                        reading = asyncio.create_task(reader.next())
                        yield _output(at, lines)
            finally:
                reading.cancel()
            async for frame in _ending(reader, reading, at, state):
                yield frame


async def _ending(
    reader: Reader, reading: asyncio.Task[Lines], at: Position, state: JobView
) -> AsyncIterator[bytes]:
    """Every line was written before the job ended, so all of them come before the end is told."""
    await asyncio.gather(reading, return_exceptions=True)
    async for lines in reader.rest(at.line):
        yield _output(at, lines)
    yield _frame(at, _encode(state), event=b"job")
    yield _frame(at, _encode({"status": state.status}), event=b"done")


async def _state(live: Live, job: str, at: Position) -> JobView | None:
    """The job, if it has changed since it was last told or if it has ended."""
    async with live.database.reading() as tx:
        found = await service.changes_since(tx, job, at.revision)
        if found is None and at.revision:
            found = await service.changes_since(tx, job, at.revision - 1)
            return found[0] if found is not None and found[0].status in FINAL else None
    if found is None:
        return None
    state, at.revision = found
    return state


async def _happens(reading: asyncio.Task[Lines], changed: asyncio.Event) -> bool:
    """Whether there was output or a change before a client would think the line dead."""
    waiting = asyncio.create_task(changed.wait())
    try:
        done, _ = await asyncio.wait(
            {reading, waiting}, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        waiting.cancel()
    return bool(done)


def _output(at: Position, lines: Lines) -> bytes:
    frames = []
    for at.line, text in lines:
        frames.append(_frame(at, text.encode()))
    return b"".join(frames)


def _frame(at: Position, data: bytes, *, event: bytes | None = None) -> bytes:
    head = b"event: %b\n" % event if event else b""
    return b"%bid: %d.%d\n%b\n" % (head, at.line, at.revision, _data(data))


def _data(text: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in text.split(b"\n"))
