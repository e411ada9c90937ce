"""Answers health checks of the node: `/healthz` while the agent is alive, `/readyz` with what fails, and
`/metrics` for Prometheus."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec

from stead.node.metrics import NODE
from stead.shared.metrics import CONTENT_TYPE, Metrics

READ_SECONDS = 5.0
MAX_HEAD = 8 * 1024
MAX_CONNECTIONS = 16

Report = Callable[[], Mapping[str, object]]
"""What `/readyz` shows. The node is ready if `status` is `ready`."""


@asynccontextmanager
async def serve_health(host: str, port: int, report: Report, metrics: Metrics = NODE) -> AsyncIterator[int]:
    """Serve on the port, or not at all if it is 0. Yields the port."""
    if not port:
        yield 0
        return
    slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(READ_SECONDS), slots:
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_respond(head, report, metrics))
                    await writer.drain()
        finally:
            writer.close()

    async with await asyncio.start_server(serve, host, port, limit=MAX_HEAD) as server:
        yield server.sockets[0].getsockname()[1]


def _respond(head: bytes, report: Report, metrics: Metrics) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0]
    if method != b"GET" or path not in (b"/healthz", b"/readyz", b"/metrics"):
        return _json("404 Not Found", {"status": "not found"})
    if path == b"/metrics":
        return _response("200 OK", metrics.render(), CONTENT_TYPE)
    if path == b"/healthz":
        return _json("200 OK", {"status": "ok"})
    found = report()
    return _json("200 OK" if found["status"] == "ready" else "503 Service Unavailable", found)


def _json(status: str, content: Mapping[str, object]) -> bytes:
    return _response(status, msgspec.json.encode(content), "application/json")


def _response(status: str, body: bytes, content_type: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
