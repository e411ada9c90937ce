"""Small HTTP servers on unix sockets, in place of the function host and the node's record server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Reply = Callable[[ReceivedRequest], tuple[int, bytes]]


@dataclass
class HttpServer:
    socket: Path
    reply: Reply
    delay: float = 0.0
    """Seconds before each answer."""
    seen: list[ReceivedRequest] = field(default_factory=list)
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.socket)
        self.socket.chmod(0o666)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self.socket.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {}
            for line in filter(None, head[1:]):
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = ReceivedRequest(method, path, headers, body)
            self.seen.append(asked)
            await asyncio.sleep(self.delay)
            status, said = self.reply(asked)
            answer = f"HTTP/1.1 {status} X\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n"
            writer.write(answer.encode() + said)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
