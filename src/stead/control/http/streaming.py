"""Sends a streaming response until it ends, the client disconnects or its caller may no longer read it."""

import asyncio
from collections.abc import AsyncGenerator

import structlog

from stead.control.http.open_streams import OpenStream
from stead.control.http.requests import Message, Receive, Send

log = structlog.get_logger()

_END: Message = {"type": "http.response.body", "body": b""}


async def stream(opened: OpenStream, receive: Receive, send: Send) -> None:
    """Send all frames. Returns after the last one, or as soon as the client disconnects."""
    sending = asyncio.create_task(_send_frames(opened.frames, send))
    disconnect = asyncio.create_task(_wait_for_disconnect(receive))
    revocation = asyncio.create_task(opened.revoked.wait())
    tasks = (sending, disconnect, revocation)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        is_cut_short = revocation.done() and not sending.done() and not disconnect.done()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await opened.frames.aclose()
    if not sending.cancelled() and (failure := sending.exception()) is not None:
        log.error("stream.failed", path=opened.path, error=type(failure).__name__)
    if is_cut_short:
        await send(_END)


async def _send_frames(frames: AsyncGenerator[bytes, None], send: Send) -> None:
    async for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send(_END)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
