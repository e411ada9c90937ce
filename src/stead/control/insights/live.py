"""Follows what arrives: rows that were received since the last look, as server-sent events.

Rows arrive in chunks, so they are a few seconds old. A row becomes visible a little after the time at which
it was received, so each look overlaps the one before, and rows that were sent are remembered.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from stead.control.insights.queries import Condition, Window
from stead.control.insights.rules import InsightsUnavailable, WindowTooExpensive
from stead.shared.errors import ApiError

LOOK_SECONDS = 2.0
SLOW_FACTOR = 4
"""If looks are slow, streams look more rarely: the pause is so many times as long as the look before."""
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
    sent, quiet, seconds = _Sent(clock()), 0, 0.0
    while True:
        await asyncio.sleep(max(LOOK_SECONDS, SLOW_FACTOR * seconds) if pause is None else pause)
        now, began = clock(), time.monotonic()
        condition = Condition(
            "received >= {received:DateTime64(3, 'UTC')}", {"received": _moment(sent.look_after)}
        )
        try:
            rows = await look(Window(now - OLDEST, now + OLDEST), condition)
        except (InsightsUnavailable, WindowTooExpensive) as error:
            yield _error(error)
            continue
        finally:
            seconds = time.monotonic() - began
        shown = [msgspec.json.encode(row) for row in reversed(rows[:MAX_ROWS])]
        are_new = sent.add(shown, now)
        frames = [_frame(event, data) for data, is_new in zip(shown, are_new, strict=True) if is_new]
        if len(rows) > MAX_ROWS and are_new[0]:
            # If the oldest of these was sent before, so were those that are older.
            frames.append(_frame("truncated", b'{"shown": %d}' % MAX_ROWS))
        quiet = 0 if frames else quiet + 1
        if frames or quiet % KEEP_ALIVE_LOOKS == 0:
            yield b"".join(frames) or b": still here\n\n"


class _Sent:
    """Which rows were sent that another look may find again, and from when on it must look."""

    def __init__(self, since: datetime) -> None:
        self._since = self.look_after = since
        self._digests: dict[bytes, datetime] = {}

    def add(self, rows: Iterable[bytes], now: datetime) -> list[bool]:
        """Which of the rows of a look are new."""
        found = [hashlib.blake2b(row, digest_size=16).digest() for row in rows]
        are_new = [digest not in self._digests for digest in found]
        self.look_after = max(self._since, now - OVERLAP)
        self._digests |= dict.fromkeys(found, now)
        self._digests = {
            digest: moment for digest, moment in self._digests.items() if moment >= self.look_after
        }
        return are_new


def _frame(event: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), data)


def _error(error: ApiError) -> bytes:
    return _frame("error", msgspec.json.encode({"code": error.code, "message": str(error)}))


def _moment(moment: datetime) -> str:
    return f"{moment.timestamp():.3f}"
