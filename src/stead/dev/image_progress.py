"""Reports images that the node makes while the stack runs, for the first site that needs them."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

POLL_INTERVAL = 0.5
_TEXTS = {
    "images.making": "images: making {image}; only the first time, takes some minutes",
    "images.made": "images: {image} is ready",
    "images.not_made": "images: {image} could not be made: {reason}",
}


class LogLine(msgspec.Struct):
    event: str
    image: str = ""
    reason: str = ""


async def watch_images(log: Path, report: Callable[[str], None]) -> None:
    """`log` is that of the node. Never returns; cancel it."""
    offset, _ = _read_new(log, 0)
    while True:
        await asyncio.sleep(POLL_INTERVAL)
        offset, lines = await asyncio.to_thread(_read_new, log, offset)
        for line in _about_images(lines):
            report(_TEXTS[line.event].format(image=line.image, reason=line.reason))


def _read_new(log: Path, offset: int) -> tuple[int, list[bytes]]:
    """Complete lines only. A file that has become shorter is a new file."""
    try:
        with log.open("rb") as file:
            file.seek(offset if log.stat().st_size >= offset else 0)
            start = file.tell()
            complete = file.read().rpartition(b"\n")[0]
    except FileNotFoundError:
        return 0, []
    return start + len(complete) + bool(complete), complete.splitlines()


def _about_images(lines: list[bytes]) -> Iterator[LogLine]:
    for line in lines:
        if b'"images.' not in line:
            continue
        try:
            read = msgspec.json.decode(line, type=LogLine)
        except msgspec.MsgspecError:
            continue
        if read.event in _TEXTS:
            yield read
