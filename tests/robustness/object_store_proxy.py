"""A connection to the object store that a test can interrupt."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class ObjectStoreProxy:
    """Forwards connections while it is up. An outage also ends the open ones."""

    target: tuple[str, int]
    port: int = 0
    is_up: bool = True
    refused: int = 0
    """How many connections were closed because of an outage."""
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["ObjectStoreProxy"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.interrupt()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def interrupt(self) -> None:
        self.is_up = False
        for task in list(self._tasks):
            task.cancel()

    def restore(self) -> None:
        self.is_up = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self.is_up:
                self.refused += 1
                return
            with contextlib.suppress(OSError, asyncio.CancelledError):
                theirs_reader, theirs_writer = await asyncio.open_connection(*self.target)
                try:
                    async with asyncio.TaskGroup() as copying:
                        copying.create_task(_copy(reader, theirs_writer))
                        copying.create_task(_copy(theirs_reader, writer))
                finally:
                    theirs_writer.close()
        finally:
            self._tasks.discard(task)
            writer.close()


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            to.write(data)
            await to.drain()
        to.write_eof()
