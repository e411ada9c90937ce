"""A job as server-sent events: output lines, state changes, and the end.

A frame's id is `<output position>.<how far the status was told>`: all that is needed to go on from it, on any
API process.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import date

import msgspec

from stead.control.engines.nats_reader import UNREADABLE
from stead.control.http.context import ApiContext
from stead.control.http.operations import Stream
from stead.control.http.version_changes import History
from stead.control.jobs import service
from stead.control.jobs.output import Lines
from stead.control.jobs.rules import FINAL
from stead.control.jobs.schema import JobView
from stead.shared.versions import LATEST

KEEP_ALIVE_SECONDS = 15.0
_GIVE_UP_SECONDS = 0.05
_ID = re.compile(r"([0-9]{1,18})\.([0-3])")
_END_OF_LINE = re.compile(rb"\r\n|\r|\n")
_TOLD = {"queued": 1, "running": 2, "succeeded": 3, "failed": 3}
_HISTORY = History("Job")
_encode = msgspec.json.encode


class Position(msgspec.Struct):
    line: int = 0
    told: int = 0

    @classmethod
    def read(cls, last_event_id: str) -> "Position":
        """Whatever is not an id of ours begins at the beginning."""
        found = _ID.fullmatch(last_event_id)
        return cls(int(found[1]), int(found[2])) if found else cls()


def follow(context: ApiContext, job: str, last_event_id: str, version: date = LATEST) -> Stream:
    return Stream(_frames(context, job, Position.read(last_event_id), version))


async def _frames(context: ApiContext, job: str, at: Position, version: date) -> AsyncGenerator[bytes, None]:
    yield b"retry: 2000\n\n"
    with context.listener.watching(job) as changed:
        async with context.output.reader(job, at.line) as reader:
            reading = asyncio.create_task(reader.next())
            try:
                while True:
                    changed.clear()
                    state = await _state(context, job)
                    if state is None or state.status in FINAL:
                        break
                    if _TOLD[state.status] > at.told:
                        at.told = _TOLD[state.status]
                        yield _job(at, state, version)
                    if not await _happens(reading, changed):
                        yield b": still here\n\n"
                    if reading.done():
                        lines = reading.result()
                        reading = asyncio.create_task(reader.next())
                        yield _output(at, lines)
            finally:
                await _give_up(reading)
    if state is not None:
        async for frame in _ending(context, at, state, version):
            yield frame


async def _ending(context: ApiContext, at: Position, state: JobView, version: date) -> AsyncIterator[bytes]:
    """Every line was written before the job ended, so all of them come before the end is told.

    When they cannot be read now the stream breaks off, and whoever comes again hears them.
    """
    try:
        async with context.output.reader(state.id, at.line) as reader:
            async for lines in reader.rest():
                yield _output(at, lines)
    except UNREADABLE:
        return
    at.told = _TOLD[state.status]
    yield _job(at, state, version)
    yield _frame(at, _encode({"status": state.status}), event=b"done")


async def _state(context: ApiContext, job: str) -> JobView | None:
    async with context.database.reading() as tx:
        found = await service.changes_since(tx, job, 0)
    return found[0] if found is not None else None


async def _give_up(reading: asyncio.Task[Lines]) -> None:
    """Asked until it is done: before Python 3.12 `wait_for` may swallow a cancellation."""
    while not reading.done():
        reading.cancel()
        await asyncio.wait({reading}, timeout=_GIVE_UP_SECONDS)


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


def _job(at: Position, state: JobView, version: date) -> bytes:
    shape = _HISTORY.downgrade_response(msgspec.to_builtins(state), version)
    return _frame(at, _encode(shape), event=b"job")


def _frame(at: Position, data: bytes, *, event: bytes | None = None) -> bytes:
    head = b"event: %b\n" % event if event else b""
    return b"%bid: %d.%d\n%b\n" % (head, at.line, at.told, _data(data))


def _data(text: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in _END_OF_LINE.split(text))
