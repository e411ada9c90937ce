"""A fake of nginx's admin socket, which stores the records in a dictionary."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from tests.patience import time_limit


@dataclass
class FakeNginx:
    socket: Path
    instance: str = ""
    revision: int = 0
    completed: bool = False
    known: dict[str, Any] = field(default_factory=dict)
    posts: list[int] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)
    """Every revision, in the order of arrival."""
    keys: dict[str, str] = field(default_factory=dict)
    """What it was sent at the paths for keys."""
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is cleared, requests are accepted and not answered."""
    full: set[str] = field(default_factory=set)
    """Records, as `kind name`, for which there is no room."""
    told: asyncio.Condition = field(default_factory=asyncio.Condition)
    _server: asyncio.Server | None = None
    _connections: set[asyncio.StreamWriter] = field(default_factory=set)

    async def start(self) -> None:
        """Start like a new nginx: without records, as a new instance."""
        self.instance, self.revision, self.completed = token_hex(4), 0, False
        self.known.clear()
        self.keys.clear()
        self.answering.set()
        self.socket.parent.mkdir(parents=True, exist_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self.socket)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in tuple(self._connections):
                writer.close()
            await self._server.wait_closed()
            self.socket.unlink(missing_ok=True)

    async def until(self, seen: Any, bound: float = 20.0) -> None:
        async with time_limit(bound), self.told:
            await self.told.wait_for(seen)

    def has(self, kind: str, name: str) -> bool:
        return f"{kind} {name}" in self.known

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].partition("\r\n")[0])
                body = await reader.readexactly(length)
                path = head.split(" ")[1]
                skipped = await self._apply(body) if path == "/apply" else []
                if path.endswith(("-key", "-keys")):
                    self.keys[path] = body.decode()
                async with self.told:
                    self.completed = self.completed or path == "/complete"
                    self.told.notify_all()
                answer = json.dumps(self._state() | {"skipped": skipped}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
                await writer.drain()
        except (OSError, EOFError):
            return
        finally:
            self._connections.discard(writer)
            writer.close()

    def _state(self) -> dict[str, Any]:
        hosts = sum(name.startswith("host ") for name in self.known)
        answer = {"instance": self.instance, "revision": self.revision}
        return answer | {"complete": self.completed, "hosts": hosts, "free": {}}

    async def _apply(self, body: bytes) -> list[dict[str, Any]]:
        await self.answering.wait()
        async with self.told:
            lines = [json.loads(line) for line in body.splitlines()]
            self.posts.append(len(lines))
            skipped = []
            for number, line in enumerate(lines, 1):
                name = f"{line['kind']} {line['name']}"
                if name in self.full:
                    skipped.append({"line": number, "dict": "records"})
                elif line["value"] is None:
                    self.known.pop(name, None)
                else:
                    self.known[name] = line["value"]
                self.heard.append(line["revision"])
                self.revision = max(self.revision, line["revision"])
            self.told.notify_all()
            return skipped


@asynccontextmanager
async def start_fake_nginx(data: Path) -> AsyncIterator[FakeNginx]:
    it = FakeNginx(data / "run" / "private" / "admin.sock")
    await it.start()
    try:
        yield it
    finally:
        await it.stop()
