"""Listens on a Unix socket for programs in a container, and ends their connections with the block."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


@asynccontextmanager
async def listen(
    socket: Path, accept: Accept, connections: set[asyncio.Task[None]], *, limit: int
) -> AsyncIterator[None]:
    """Every user can connect. `connections` contains the tasks that serve those that were accepted. `limit`
    is how much a reader buffers."""
    server = await asyncio.start_unix_server(accept, socket, limit=limit)
    os.chmod(socket, 0o666)  # noqa: PTH101, S103
    try:
        yield
    finally:
        server.close()
        for task in connections:
            task.cancel()
        if connections:
            await asyncio.wait(connections)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)  # noqa: PTH108
