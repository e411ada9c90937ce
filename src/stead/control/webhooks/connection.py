"""One HTTP/1.1 connection to a customer's server. It reads a bounded part of every response."""

import asyncio
from time import monotonic
from typing import Any

import httptools
from msgspec import Struct


class Response(Struct):
    status: int
    retry_after: str | None
    body: bytes
    """The beginning of the body."""
    complete: bool = True
    """Whether `body` is the whole body."""


class RequestFailed(Exception):
    """There was no response. The message says why, and may be shown to the customer."""


class ConnectionDropped(Exception):
    """The connection ended before any byte of the response arrived."""


class HttpConnection(asyncio.Protocol):
    """Handles one request at a time. The parser calls the `on_…` methods."""

    def __init__(self, max_bytes: int, kept_bytes: int) -> None:
        """Read at most `max_bytes` of a response, headers included, and keep `kept_bytes` of its body."""
        self._max_bytes, self._kept_bytes = max_bytes, kept_bytes
        self.opened_at = self.idle_since = monotonic()
        self.reusable = False
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._response: asyncio.Future[Response] | None = None
        self._reset()

    def _reset(self) -> None:
        self._received = 0
        self._body = bytearray()
        self._complete = True
        self._retry_after: str | None = None
        self._status: int | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def request(self, request: bytes) -> Response:
        transport = self._transport
        if transport is None or transport.is_closing():
            raise ConnectionDropped
        self._reset()
        self.reusable = False
        self._parser = httptools.HttpResponseParser(self)
        self._response = asyncio.get_running_loop().create_future()
        transport.write(request)
        return await self._response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            # No request is pending. The next response on this connection could not be trusted.
            self.abort()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(RequestFailed("The answer was not HTTP."))
            self.abort()
            return
        if self._received > self._max_bytes and not self._response.done():
            if self._status is None:
                self._fail(RequestFailed("The answer's headers are too long."))
            else:
                self._complete = False
                self._finish()
            self.abort()

    def connection_lost(self, _: Exception | None) -> None:
        if self._response is None or self._response.done():
            return
        if self._status is not None:
            self._finish()
        elif self._received:
            self._fail(RequestFailed("The answer ended before its headers did."))
        else:
            self._fail(ConnectionDropped())

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = status

    def on_body(self, body: bytes) -> None:
        room = self._kept_bytes - len(self._body)
        self._body += body[:room]
        self._complete = self._complete and len(body) <= room

    def on_message_complete(self) -> None:
        if self._status is None:
            self._retry_after = None  # An interim response (1xx): the final one follows.
            return
        self.reusable = self._parser.should_keep_alive()
        self._finish()

    def _finish(self) -> None:
        if self._response is not None and not self._response.done() and self._status is not None:
            self._response.set_result(
                Response(self._status, self._retry_after, bytes(self._body), self._complete)
            )

    def _fail(self, failure: Exception) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(failure)
