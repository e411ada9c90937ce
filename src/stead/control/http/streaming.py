"""Sends a streaming response until it ends or the client disconnects."""

import asyncio
from collections.abc import AsyncGenerator

from stead.control.http.requests import Receive, Send


async def stream(frames: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
    """Send all frames. Returns after the last one, or as soon as the client disconnects."""
    sending = asyncio.create_task(_send_frames(frames, send))
    disconnect = asyncio.create_task(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({sending, disconnect}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, disconnect):
            task.cancel()
        await asyncio.gather(sending, disconnect, return_exceptions=True)
        await frames.aclose()


async def _send_frames(frames: AsyncGenerator[bytes, None], send: Send) -> None:
    async for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
