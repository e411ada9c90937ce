"""The processes of functions: starts them through the first process of the container, and tells when one has
ended."""

import asyncio
import fcntl
import itertools
import json
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from stead.node.functions.container import FunctionsContainer
from stead.node.functions.process_messages import read_message
from stead.node.functions.sandbox import activity
from stead.node.functions.sandbox.activity import Activity
from stead.node.functions.sandbox.messages import LENGTH, MAX_MESSAGE, Message, encode_json

START_SECONDS = 60.0
KILL_AGAIN_SECONDS = 0.05
READ_AHEAD = 64 << 10
"""How much of a message is received before there is room for all of it."""
_MAX_REPORT = 4096

log = structlog.get_logger()


class ProcessEnded(Exception):
    """The process has ended, or the container has."""


class FunctionProcess:
    """A process in the container, with the channel to it."""

    def __init__(self, number: int, channel: socket.socket, shared: Activity | None) -> None:
        self.number, self._socket, self.activity = number, channel, shared
        self.ended = asyncio.Event()
        self.is_killed = False
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> None:
        self._streams = await asyncio.open_unix_connection(sock=self._socket, limit=READ_AHEAD)

    async def send(self, message: Message) -> None:
        assert self._streams is not None  # noqa: S101
        content = encode_json(message).encode("utf-8", "replace")
        try:
            self._streams[1].write(LENGTH.pack(len(content)) + content)
            await self._streams[1].drain()
        except OSError:
            raise ProcessEnded from None

    async def receive(self) -> Message:
        return await self.receive_content(await self.receive_length())

    async def receive_length(self) -> int:
        """The size of the next message. Raises ProcessEnded."""
        try:
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        except (OSError, EOFError):
            raise ProcessEnded from None
        if length > MAX_MESSAGE:
            raise ProcessEnded
        return int(length)

    async def receive_content(self, length: int) -> Message:
        try:
            return read_message(await self._reader.readexactly(length))
        except (OSError, EOFError, msgspec.MsgspecError, RecursionError):
            raise ProcessEnded from None

    @property
    def _reader(self) -> asyncio.StreamReader:
        assert self._streams is not None  # noqa: S101
        return self._streams[0]

    @property
    def is_idle(self) -> bool:
        return self.activity is not None and not self.activity.read()[0]

    @property
    def busy_seconds(self) -> float:
        """How long it has handled its request; 0 without one."""
        began = self.activity.read()[0] if self.activity is not None else 0
        return (time.monotonic_ns() - began) / 1e9 if began else 0.0

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        if self.activity is not None:
            self.activity.close()
            self.activity = None


class FunctionProcesses:
    def __init__(self, container: FunctionsContainer, on_lost: Callable[[], Awaitable[None]]) -> None:
        self._container, self._on_lost = container, on_lost
        self._control: socket.socket | None = None
        self._numbers = itertools.count(1)
        self._running: dict[int, FunctionProcess] = {}
        self._started = asyncio.Event()

    async def run(self) -> None:
        """Keep the container running until cancelled."""
        try:
            while True:
                self._control = await self._container.start()
                await self._follow(self._control)
                log.warning("functions.container_ended", processes=len(self._running))
                self._started.clear()
                for process in list(self._running.values()):
                    process.ended.set()
                self._running.clear()
                await self._on_lost()
                await asyncio.sleep(1.0)
        finally:
            self._started.clear()
            await self._container.stop()

    async def _follow(self, control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with control:
            while report := await loop.sock_recv(control, _MAX_REPORT):
                message = json.loads(report)
                if "started" in message:
                    self._started.set()
                elif process := self._running.pop(message.get("ended", 0), None):
                    process.ended.set()

    async def start_worker(self, uid: int, listening: socket.socket, compiled: int) -> FunctionProcess:
        shared = os.memfd_create("activity", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(shared, activity.SIZE)
            # If the process could make it shorter, reading it would end this program.
            fcntl.fcntl(
                shared, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            )
            return await self._start({"uid": uid}, [listening.fileno(), compiled, shared], Activity(shared))
        finally:
            os.close(shared)

    async def start_compiler(self, uid: int, source: int, target: int) -> FunctionProcess:
        return await self._start({"uid": uid, "compile": True}, [source, target], None)

    async def _start(
        self, order: dict[str, Any], descriptors: list[int], shared: Activity | None
    ) -> FunctionProcess:
        async with asyncio.timeout(START_SECONDS):
            await self._started.wait()
        assert self._control is not None  # noqa: S101
        number = next(self._numbers)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process = FunctionProcess(number, ours, shared)
        await process.open()
        self._running[number] = process
        with theirs:
            message = json.dumps({**order, "worker": number}).encode()
            try:
                socket.send_fds(self._control, [message], [theirs.fileno(), *descriptors])
            except OSError:
                self._running.pop(number, None)
                process.close()
                raise ProcessEnded from None
        return process

    def kill(self, process: FunctionProcess) -> None:
        process.is_killed = True
        if self._control is not None and not process.ended.is_set():
            try:
                self._control.send(json.dumps({"kill": process.number}).encode())
            except BlockingIOError:
                # The first process has much to do.
                asyncio.get_running_loop().call_later(KILL_AGAIN_SECONDS, self.kill, process)
            except OSError:
                process.ended.set()
