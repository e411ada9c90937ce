"""Reads the output of a job, which its nodes write to a NATS stream, from any position on.

A node can write lines for any job. Only those of nodes that were asked to work for the job are read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

import msgspec

from stead.control.engines.nats import Nats
from stead.control.engines.nats_reader import Messages, StreamReader
from stead.protocol.commands import read_line
from stead.protocol.subjects import OUTPUT, Node, job_output, output_of

Lines = list[tuple[int, str]]
"""The position of each line in the stream, and its text."""
ListAskedNodes = Callable[[], Awaitable[Collection[str] | None]]
"""Returns the nodes that were asked so far; None if that is not known."""


class Reader:
    def __init__(self, stream: StreamReader, job: str, list_asked_nodes: ListAskedNodes) -> None:
        self._stream, self._job, self._list_asked_nodes = stream, job, list_asked_nodes
        self._accepted: set[str] = set()
        """The subjects of the nodes that are known to have been asked."""

    async def next(self) -> Lines:
        """Wait a while for more lines. Empty if none arrived."""
        return await self._decode(await self._stream.next())

    async def rest(self) -> AsyncIterator[Lines]:
        """Every line that is stored by now. Raises one of UNREADABLE if they cannot be read."""
        async for messages in self._stream.rest():
            yield await self._decode(messages)

    async def _decode(self, messages: Messages) -> Lines:
        subjects = {subject for _, subject, _ in messages}
        if subjects - self._accepted:
            nodes = await self._list_asked_nodes()
            accepted = subjects if nodes is None else {job_output(self._job, Node(node)) for node in nodes}
            self._accepted |= accepted
        decoded = (
            (position, _read_text(data)) for position, subject, data in messages if subject in self._accepted
        )
        return [(position, text) for position, text in decoded if text is not None]


class JobOutput:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_

    @asynccontextmanager
    async def reader(self, job: str, after: int, list_asked_nodes: ListAskedNodes) -> AsyncIterator[Reader]:
        stream = StreamReader(self._nats, OUTPUT, output_of(job), after=after)
        try:
            yield Reader(stream, job, list_asked_nodes)
        finally:
            await asyncio.shield(stream.close())


def _read_text(data: bytes) -> str | None:
    """None for a message that is no line: NATS sends its replies to any subject that a client names."""
    try:
        return read_line(data).text
    except msgspec.MsgspecError:
        return None
