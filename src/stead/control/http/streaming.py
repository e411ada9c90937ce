"""Sends an answer that goes on for as long as its client listens."""

import asyncio
from collections.abc import AsyncGenerator

from stead.control.http.requests import Receive, Send


async def stream(frames: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
    """Ends with the frames, or as soon as the client has gone."""
    pumping = asyncio.create_task(_pump(frames, send))
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({pumping, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (pumping, leaving):
            task.cancel()
        await asyncio.gather(pumping, leaving, return_exceptions=True)
        await frames.aclose()


async def _pump(frames: AsyncGenerator[bytes, None], send: Send) -> None:
    async for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
