"""A proxy between a client and the API that does what networks do: refuses, cuts, delays, duplicates."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close" + _HEAD_END
_ANSWERS = {
    "page": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close" + _HEAD_END + b"<p>Hi</p>",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0" + _HEAD_END,
    "unknown": _STREAM
    + b"id: 1.1\nevent: weather\ndata: sunny\n\ndata: a line\nid: 2.1\n\nevent: done\ndata: {}\n\n",
}


@dataclass
class Forwarded:
    """A request that reached the API."""

    method: str
    target: str
    headers: dict[str, str]


@dataclass
class FaultProxy:
    """`script` has one entry for each request; afterwards, requests pass. What a browser asks before
    (`OPTIONS`) always passes, and is not counted.

    `pass`; `429`, `503`: answered by the proxy; `refuse`: closed without a response; `lose`: the API answers,
    but the response is lost; `half`: half of the response arrives; `twice`: the API gets the request twice;
    `stall`: the API answers, and nothing arrives; `silent`: the API gets nothing, and nothing arrives;
    `hush`: a stream begins, and nothing follows; `cut:<bytes>`: the connection ends after so many bytes;
    `page`: a page that is not the API's; `redirect`: to another address; `unknown`: a stream with an event of
    a later version. Only requests whose target contains `only` are concerned.
    """

    api: str
    script: deque[str] = field(default_factory=deque)
    always: str = "pass"
    only: str = ""
    forwarded: list[Forwarded] = field(default_factory=list)
    seen: int = 0
    address: str = ""
    retry_after: str = "0"

    def then(self, *actions: str) -> None:
        self.script = deque(actions)

    @property
    def keys(self) -> list[str]:
        return [each.headers.get("idempotency-key", "") for each in self.forwarded]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            try:
                head = await reader.readuntil(_HEAD_END)
                sent = _parse(head)
                body = await reader.readexactly(int(sent.headers.get("content-length", "0")))
                action = self._next_action(sent)
                if action in ("stall", "silent", "hush"):
                    await self._fall_silent(action, sent, head + body, writer)
                    await reader.read()
                else:
                    await self._act(action, sent, head + body, writer)
            finally:
                writer.close()

    def _next_action(self, sent: Forwarded) -> str:
        if sent.method == "OPTIONS":
            return "pass"
        self.seen += 1
        if self.only not in sent.target:
            return "pass"
        return self.script.popleft() if self.script else self.always

    async def _fall_silent(
        self, action: str, sent: Forwarded, request: bytes, writer: asyncio.StreamWriter
    ) -> None:
        if action == "stall":
            await self._whole(sent, request)
        elif action == "hush":
            writer.write(_STREAM)
            await writer.drain()

    async def _act(self, action: str, sent: Forwarded, request: bytes, writer: asyncio.StreamWriter) -> None:
        if action.isdigit():
            writer.write(_refusal(action, self.retry_after))
            await writer.drain()
            return
        if action == "refuse":
            return
        if action == "twice":
            await self._whole(sent, request)
        if action in ("lose", "half"):
            whole = await self._whole(sent, request)
            writer.write(whole[: len(whole) // 2] if action == "half" else b"")
            await writer.drain()
            return
        if action in _ANSWERS:
            writer.write(_ANSWERS[action])
            await writer.drain()
            return
        limit = int(action.partition(":")[2]) if action.startswith("cut:") else None
        async for part in self._parts(sent, request):
            writer.write(part if limit is None else part[:limit])
            await writer.drain()
            limit = None if limit is None else limit - len(part)
            if limit is not None and limit <= 0:
                return

    async def _whole(self, sent: Forwarded, request: bytes) -> bytes:
        return b"".join([part async for part in self._parts(sent, request)])

    async def _parts(self, sent: Forwarded, request: bytes) -> AsyncIterator[bytes]:
        self.forwarded.append(sent)
        to = urlsplit(self.api)
        reader, writer = await asyncio.open_connection(to.hostname, to.port)
        try:
            head, _, body = request.partition(_HEAD_END)
            writer.write(head + b"\r\nConnection: close" + _HEAD_END + body)
            while part := await reader.read(4096):
                yield part
        finally:
            writer.close()


def _parse(head: bytes) -> Forwarded:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    return Forwarded(method, target, {name.lower(): value.strip() for name, _, value in pairs})


def _refusal(status: str, retry_after: str) -> bytes:
    """Not the API's words: a load balancer knows nothing of its errors."""
    page = b"<html>not now</html>"
    lines: Iterable[str] = (
        f"HTTP/1.1 {status} Not now",
        "Content-Type: text/html",
        f"Content-Length: {len(page)}",
        f"Retry-After: {retry_after}",
        "Connection: close",
    )
    return "\r\n".join(lines).encode() + _HEAD_END + page


@asynccontextmanager
async def fault_proxy(api: str) -> AsyncIterator[FaultProxy]:
    proxy = FaultProxy(api)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    async with server:
        yield proxy
