"""Streams a job as server-sent events: output lines, status changes and the end.

The id of an event is `<output position>.<last status sent>`. With it, any API process can resume the stream.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import date

import msgspec

from stead.control.engines.nats_reader import UNREADABLE
from stead.control.http.context import ApiContext
from stead.control.http.operations import Stream
from stead.control.http.version_changes import History
from stead.control.jobs import service
from stead.control.jobs.output import Lines, Reader
from stead.control.jobs.rules import FINAL
from stead.control.jobs.schema import JobEnd, JobView
from stead.shared.versions import LATEST

KEEP_ALIVE_SECONDS = 15.0
_CANCEL_SECONDS = 0.05
_ID = re.compile(r"([0-9]{1,18})\.([0-3])")
_END_OF_LINE = re.compile(rb"\r\n|\r|\n")
_STATUS_NUMBER = {"queued": 1, "running": 2, "succeeded": 3, "failed": 3}
_HISTORY = History("Job")
_encode = msgspec.json.encode


class Position(msgspec.Struct):
    line: int = 0
    status: int = 0
    """The number of the last status that was sent, 0 for none."""

    @classmethod
    def read(cls, last_event_id: str) -> "Position":
        """Parse the id of an event. An invalid id means the beginning."""
        found = _ID.fullmatch(last_event_id)
        return cls(int(found[1]), int(found[2])) if found else cls()


def follow(context: ApiContext, job: str, last_event_id: str, version: date = LATEST) -> Stream:
    return Stream(_frames(context, job, Position.read(last_event_id), version))


async def _frames(context: ApiContext, job: str, at: Position, version: date) -> AsyncGenerator[bytes, None]:
    yield b"retry: 2000\n\n"
    with context.listener.watching(job) as changed:
        async with _output(context, job, at) as reader:
            reading = asyncio.create_task(reader.next())
            try:
                while True:
                    changed.clear()
                    state = await _state(context, job)
                    if state is None or state.status in FINAL:
                        break
                    if _STATUS_NUMBER[state.status] > at.status:
                        at.status = _STATUS_NUMBER[state.status]
                        yield _job_event(at, state, version)
                    if not await _wait_for_news(reading, changed):
                        yield b": still here\n\n"
                    if reading.done():
                        lines = reading.result()
                        reading = asyncio.create_task(reader.next())
                        yield _output_events(at, lines)
            finally:
                await _cancel(reading)
    if state is not None:
        async for frame in _last_frames(context, at, state, version):
            yield frame


async def _last_frames(
    context: ApiContext, at: Position, state: JobView, version: date
) -> AsyncIterator[bytes]:
    """The remaining output, then the final status. All output was written before the job ended.

    If the output cannot be read, the stream ends early; a client that reconnects gets the rest.
    """
    try:
        async with _output(context, state.id, at) as reader:
            async for lines in reader.rest():
                yield _output_events(at, lines)
    except UNREADABLE:
        return
    at.status = _STATUS_NUMBER[state.status]
    yield _job_event(at, state, version)
    yield _frame(at, _encode(JobEnd(state.status)), event=b"done")


def _output(context: ApiContext, job: str, at: Position) -> AbstractAsyncContextManager[Reader]:
    async def list_asked_nodes() -> list[str] | None:
        async with context.database.reading() as tx:
            return await service.list_asked_nodes(tx, job)

    return context.output.reader(job, at.line, list_asked_nodes)


async def _state(context: ApiContext, job: str) -> JobView | None:
    async with context.database.reading() as tx:
        return await service.get_view(tx, job)


async def _cancel(reading: asyncio.Task[Lines]) -> None:
    """Cancel repeatedly until the task is done: before Python 3.12, `wait_for` may swallow a cancellation."""
    while not reading.done():
        reading.cancel()
        await asyncio.wait({reading}, timeout=_CANCEL_SECONDS)


async def _wait_for_news(reading: asyncio.Task[Lines], changed: asyncio.Event) -> bool:
    """Wait for output or a change. False after `KEEP_ALIVE_SECONDS` without either."""
    waiting = asyncio.create_task(changed.wait())
    try:
        done, _ = await asyncio.wait(
            {reading, waiting}, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        waiting.cancel()
    return bool(done)


def _output_events(at: Position, lines: Lines) -> bytes:
    frames = []
    for at.line, text in lines:
        frames.append(_frame(at, text.encode()))
    return b"".join(frames)


def _job_event(at: Position, state: JobView, version: date) -> bytes:
    shape = _HISTORY.downgrade_response(msgspec.to_builtins(state), version)
    return _frame(at, _encode(shape), event=b"job")


def _frame(at: Position, data: bytes, *, event: bytes | None = None) -> bytes:
    head = b"event: %b\n" % event if event else b""
    return b"%bid: %d.%d\n%b\n" % (head, at.line, at.status, _data(data))


def _data(text: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in _END_OF_LINE.split(text))
