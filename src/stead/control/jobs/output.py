"""Reads the output of a job, which its node writes to a NATS stream, from any position on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stead.control.engines.nats import Nats
from stead.control.engines.nats_reader import Messages, StreamReader
from stead.protocol.commands import read_line
from stead.protocol.subjects import OUTPUT, output_of

Lines = list[tuple[int, str]]
"""The position of each line in the stream, and its text."""


class Reader:
    def __init__(self, stream: StreamReader) -> None:
        self._stream = stream

    async def next(self) -> Lines:
        """Wait a while for more lines. Empty if none arrived."""
        return _decode(await self._stream.next())

    async def rest(self) -> AsyncIterator[Lines]:
        """Every line that is stored by now. Raises one of UNREADABLE if they cannot be read."""
        async for messages in self._stream.rest():
            yield _decode(messages)


class JobOutput:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_

    @asynccontextmanager
    async def reader(self, job: str, after: int) -> AsyncIterator[Reader]:
        stream = StreamReader(self._nats, OUTPUT, output_of(job), after=after)
        try:
            yield Reader(stream)
        finally:
            await stream.close()


def _decode(messages: Messages) -> Lines:
    return [(position, read_line(data).text) for position, data in messages]
