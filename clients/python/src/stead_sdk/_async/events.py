"""Server-sent events of one connection."""

import time
from collections.abc import AsyncIterator

from stead_sdk._async.connections import AsyncResponseStream
from stead_sdk._events import EventParser, ServerSentEvent
from stead_sdk.errors import APITimeoutError


class AsyncEvents:
    """An open stream. `parser` remembers the last event, for the next connection. Close it after use."""

    def __init__(self, response: AsyncResponseStream, parser: EventParser) -> None:
        self._response, self._parser = response, parser
        self._opened = self._heard = time.monotonic()

    async def __aiter__(self) -> AsyncIterator[ServerSentEvent]:
        # Events that are not complete when the connection breaks are sent again.
        lines = EventParser(last_id=self._parser.last_id)
        async for line in self._response.lines():
            self._heard = time.monotonic()
            event = lines.feed(line)
            if event is not None:
                self._parser.last_id = event.id
                yield event

    def seconds_open(self, ended_by: Exception | None) -> float:
        """How long it worked. A stream that fell silent worked until the last line."""
        until = self._heard if isinstance(ended_by, APITimeoutError) else time.monotonic()
        return until - self._opened

    def close(self) -> None:
        self._response.close()
