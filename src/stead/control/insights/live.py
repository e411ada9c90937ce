"""Follows what arrives: rows that were received since the last look, as server-sent events.

Rows arrive in chunks, so they are a few seconds old. A row becomes visible a little after the time at which
it was received, so each look overlaps the one before, and rows that were sent are remembered.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from stead.control.insights.queries import Condition, Window
from stead.control.insights.rules import InsightsUnavailable, WindowTooExpensive
from stead.shared.errors import ApiError

LOOK_SECONDS = 2.0
KEEP_ALIVE_LOOKS = 7
"""After so many looks without a row the client gets a sign of life."""
OVERLAP = timedelta(seconds=20)
OLDEST = timedelta(hours=1)
"""Rows that are older when they arrive are not sent: they are what a node has kept during an outage."""
MAX_ROWS = 500
"""At one look. More are left out, and that is said."""

Look = Callable[[Window, Condition], Awaitable[Sequence[msgspec.Struct]]]
"""Reads the newest rows of a window that meet a condition."""


async def follow(
    event: str, look: Look, clock: Callable[[], datetime], *, pause: float | None = None
) -> AsyncGenerator[bytes, None]:
    """`event` is the name of the events. What was there before is not sent."""
    yield b"retry: 2000\n\n"
    since, sent, quiet = clock(), {}, 0
    while True:
        await asyncio.sleep(LOOK_SECONDS if pause is None else pause)
        now = clock()
        after = max(since, now - OVERLAP)
        condition = Condition("received >= {received:DateTime64(3, 'UTC')}", {"received": _moment(after)})
        try:
            rows = await look(Window(now - OLDEST, now + OLDEST), condition)
        except (InsightsUnavailable, WindowTooExpensive) as error:
            yield _error(error)
            continue
        frames, seen = [], {}
        for row in reversed(rows[:MAX_ROWS]):
            data = msgspec.json.encode(row)
            if data not in sent:
                frames.append(_frame(event, data))
            seen[data] = True
        # Only what the next look can find again.
        sent = seen
        if len(rows) > MAX_ROWS:
            frames.append(_frame("truncated", b'{"shown": %d}' % MAX_ROWS))
        quiet = 0 if frames else quiet + 1
        if frames or quiet % KEEP_ALIVE_LOOKS == 0:
            yield b"".join(frames) or b": still here\n\n"


def _frame(event: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), data)


def _error(error: ApiError) -> bytes:
    return _frame("error", msgspec.json.encode({"code": error.code, "message": str(error)}))


def _moment(moment: datetime) -> str:
    return f"{moment.timestamp():.3f}"
