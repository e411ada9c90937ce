"""One HTTP request: its id, headers and size-limited body."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from stead.control.http.rate_limits import RateLimitResult
from stead.shared.errors import RequestMalformed, RequestTooLarge
from stead.shared.ids import RequestId, new_id

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 2 * 1024 * 1024
BODY_SECONDS = 30


class Request:
    __slots__ = ("_headers", "_receive", "_scope", "id", "method", "path", "query", "rate_limit")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope, self._receive = scope, receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.id = RequestId(new_id("req"))
        self.rate_limit: RateLimitResult | None = None

    @property
    def segments(self) -> list[str]:
        """The path segments, split before decoding: an encoded slash does not separate segments."""
        raw = self._scope.get("raw_path")
        if raw is None or b"%" not in raw:
            return self.path.split("/")
        return [unquote(segment) for segment in raw.decode("latin-1").partition("?")[0].split("/")]

    @property
    def peer(self) -> str | None:
        client = self._scope.get("client")
        return client[0] if client else None

    def header(self, name: bytes) -> str:
        """The value of a header, empty if it was not sent. `name` must be lower case."""
        return self._headers.get(name, b"").decode("latin-1")

    def has_header(self, name: bytes) -> bool:
        """Whether the header was sent, even if it is empty."""
        return name in self._headers

    async def body(self, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._read(max_bytes)
        except TimeoutError:
            raise RequestMalformed(reason="its body did not arrive in time") from None

    async def _read(self, max_bytes: int) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise RequestMalformed(reason="the connection was closed before the end of its body")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > max_bytes:
                raise RequestTooLarge(limit=max_bytes)
            more = message.get("more_body", False)
        return b"".join(parts)
