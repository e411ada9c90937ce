"""The HTTP server: uvicorn, with limits on the size, number and duration of requests and connections.

Neither uvicorn nor its parser limits a request head: the parser collects a header of any size, and copies it
with every part that arrives. `LimitedProtocol` counts what is received before it is parsed (decision 0026).
"""

import asyncio
import math
import threading
from typing import Any, ClassVar, Literal

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from stead.control import metrics
from stead.control.http.connections import ConnectionLimits, Connections
from stead.control.http.principal import Network
from stead.control.http.responses import error_response, headers_of
from stead.shared.errors import (
    ApiError,
    ConnectionsExceeded,
    RequestHeadTooLarge,
    RequestMalformed,
    RequestTimedOut,
    RequestTooLarge,
)
from stead.shared.ids import new_id
from stead.shared.metrics import Counter
from stead.shared.versions import LATEST

KEEP_ALIVE_SECONDS = 75
"""Longer than most clients and proxies keep idle connections. Otherwise some of their requests would meet a
connection that is being closed, and a client cannot know whether to repeat such a request."""
CLOSE_SECONDS = 5
"""How long a connection may take to close."""
CHECK_SECONDS = 0.5
NEVER = math.inf


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `limited_protocol` creates the class for a listening port.

    `_pending_bytes` are the bytes received since the parser last completed something: a head, or a part of a
    body. So one counter limits paths, headers, blank lines, chunk extensions and trailers.
    """

    open_connections: ClassVar[Connections]
    limits: ClassVar[ConnectionLimits]
    docs_url: ClassVar[str]
    cut_off: ClassVar[Counter]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline = self._stalled_at = NEVER
        self._is_refused = False
        self._in_head = self._in_message = self._has_cycle = False
        self._pending_bytes = self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.time() + self.limits.head_seconds
        self._start_checking()
        if not self.open_connections.add(self, self.client[0] if self.client else None):
            self._refuse(ConnectionsExceeded())

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_connections.remove(self)
        self._deadline = self._stalled_at = NEVER
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._unset_keepalive_if_required()
        self._pending_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # the request is handled as if it had not asked for another protocol
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(
                cause if isinstance(cause, ApiError) else RequestMalformed(reason="it is not valid HTTP")
            )
            return
        if self._pending_bytes > self.limits.head_bytes:
            self._refuse(RequestHeadTooLarge(limit=self.limits.head_bytes))
        elif self._pending_bytes and self._is_idle():
            self._deadline = min(self._deadline, self.loop.time() + self.limits.head_seconds)

    # Callbacks of the parser. An error that they raise ends `feed_data`.

    def on_message_begin(self) -> None:
        self._in_head = self._in_message = True
        self._pending_bytes = self._body_bytes = 0
        self._deadline = self.loop.time() + self.limits.head_seconds
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer; nothing here uses them
        if len(self.headers) >= self.limits.headers:
            raise RequestHeadTooLarge(limit=self.limits.head_bytes)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        limits = self.limits
        size = len(self.url) + sum([len(name) + len(value) for name, value in self.headers])
        if size > limits.head_bytes or len(self.pipeline) >= limits.pipelined:
            raise RequestHeadTooLarge(limit=limits.head_bytes)
        self._in_head = False
        self._pending_bytes = 0
        self._deadline = self.loop.time() + limits.body_seconds
        self.open_connections.begin_request(self)
        super().on_headers_complete()
        self._has_cycle = True

    def on_body(self, body: bytes) -> None:
        self._pending_bytes = 0
        self._body_bytes += len(body)
        if self._body_bytes > self.limits.body_bytes:
            raise RequestTooLarge(limit=self.limits.body_bytes)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        self._pending_bytes = 0
        self._deadline = self._idle_deadline() if self.cycle.response_complete else NEVER
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.open_connections.end_request(self)
        if not self._in_message:
            self._deadline = self._idle_deadline()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._stalled_at = self.loop.time() + self.limits.write_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_at = NEVER
        super().resume_writing()

    def check_deadlines(self, now: float) -> None:
        if self._stalled_at <= now:
            self.cut_off.labels("stalled").inc()
            self.transport.abort()
        elif self._deadline <= now:
            if self.transport.is_closing():
                self.transport.abort()
            elif self._in_message:
                self._refuse(RequestTimedOut())
            else:
                self._close()

    def give_way(self) -> None:
        """Close a connection that waits for a request, because there are too many."""
        self.cut_off.labels("connections").inc()
        self._is_refused = True
        self.transport.abort()

    def _is_idle(self) -> bool:
        """Between two requests. Bytes that begin no request, such as blank lines, do not change that."""
        return not self._in_message and self._has_cycle and bool(self.cycle.response_complete)

    def _idle_deadline(self) -> float:
        """Later than the keep-alive timeout, which any byte cancels, even one that begins no request."""
        return self.loop.time() + self.timeout_keep_alive + self.limits.head_seconds

    def _refuse(self, error: ApiError) -> None:
        """Send the error, unless it would be mixed up with another response, and close the connection."""
        self.cut_off.labels(error.code).inc()
        if self._may_respond():
            self.transport.write(_response_bytes(error, self.docs_url))
        if self._has_cycle and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._close()

    def _may_respond(self) -> bool:
        if not self._has_cycle:
            return True
        if self._in_message and not self._in_head and not self.pipeline:
            return not self.cycle.response_started
        return self.cycle.response_complete

    def _close(self) -> None:
        self._is_refused = True
        self._deadline = self.loop.time() + CLOSE_SECONDS
        self.transport.close()

    def _start_checking(self) -> None:
        """One timer checks all connections: a timer for each request would cost more."""
        if not self.open_connections.is_checked:
            self.open_connections.is_checked = True
            self.loop.call_later(CHECK_SECONDS, self._check_all)

    def _check_all(self) -> None:
        self.open_connections.is_checked = False
        now = self.loop.time()
        for connection in list(self.connections):
            if isinstance(connection, LimitedProtocol):
                connection.check_deadlines(now)
        if self.connections:
            self._start_checking()


def _response_bytes(error: ApiError, docs_url: str) -> bytes:
    request_id = new_id("req")
    response = error_response(error, request_id, docs_url)
    lines = [b"%s: %s\r\n" % header for header in headers_of(response, request_id, LATEST, None)]
    return b"".join([STATUS_LINE[error.status], *lines, b"connection: close\r\n\r\n", response.body])


def limited_protocol(
    limits: ConnectionLimits,
    docs_url: str,
    exempt: tuple[Network, ...] = (),
    cut_off: Counter = metrics.requests_cut_off,
) -> type[LimitedProtocol]:
    """The protocol of one listening port, with its own count of connections."""

    class Limited(LimitedProtocol):
        open_connections = Connections(limits, exempt)

    Limited.limits, Limited.docs_url, Limited.cut_off = limits, docs_url, cut_off
    return Limited


def run(app: Any, host: str, port: int, protocol: type[LimitedProtocol]) -> None:
    """Serve until a signal arrives."""
    uvicorn.Server(_config(app, host, port, protocol, lifespan="on")).run()


def run_in_thread(app: Any, host: str, port: int, protocol: type[LimitedProtocol]) -> None:
    """Serve as long as the process runs, with an event loop of its own. The port is open on return."""
    config = _config(app, host, port, protocol, lifespan="off")
    sockets = [config.bind_socket()]
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, args=[sockets], name=f"http-{port}", daemon=True).start()


def _config(
    app: Any, host: str, port: int, protocol: type[LimitedProtocol], *, lifespan: Literal["on", "off"]
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=protocol,
        ws="none",
        lifespan=lifespan,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )
