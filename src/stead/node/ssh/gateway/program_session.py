"""A shell, a command or SFTP: connects a channel of the client with a program in a container of the site."""

import asyncio
import fcntl
import os
import struct
import termios
import tty
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

import asyncssh

from stead.node.ssh.gateway.agent_link import AgentLink, AgentUnavailable, Event
from stead.node.ssh.gateway.flow import Brake, FromProgram, ToProgram
from stead.node.ssh.message_socket import close_all
from stead.node.ssh.messages import MAX_COMMAND, Ended, Kind, NotStarted, Signal, Start, Started, Stop
from stead.node.ssh.signals import PacedSignals

START_SECONDS = 90.0
MAX_TERMINAL = 64
_MAX_SIDE = 10_000
"""Columns or rows of a terminal."""
_FAILED = 1


class ChannelOwner(Protocol):
    """The connection that a session is a channel of."""

    def add_brake(self, brake: Brake) -> None: ...

    def remove_channel(self, brake: Brake) -> None: ...


class ProgramSession(asyncssh.SSHServerSession[bytes]):
    def __init__(self, server: "ChannelOwner", link: AgentLink) -> None:
        self._server, self._link = server, link
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._kind: Kind = "shell"
        self._command = self._terminal = ""
        self._size = (80, 24)
        self._master = -1
        self._pipes: list[int] = []
        """Our ends of the streams, until they are connected."""
        self._number = link.new_channel(self._on_event)
        self._brake = Brake()
        self._early: list[bytes] = []
        self._ended_early = False
        self._stdin: tuple[asyncio.WriteTransport, ToProgram] | None = None
        self._outputs: list[asyncio.ReadTransport] = []
        self._streams = 0
        """How many streams of the program are open."""
        self._changed = asyncio.Event()
        self._started = False
        self._signals = PacedSignals(lambda name: link.try_to_send(Signal(self._number, name)))
        self._end: NotStarted | Ended | None = None
        self._told = False
        """Whether the agent has said that no program runs, or was told to end it."""
        self._task: asyncio.Task[None] | None = None

    # What AsyncSSH calls.

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan
        self._server.add_brake(self._brake)

    def pty_requested(
        self,
        term_type: str,
        term_size: tuple[int, int, int, int],
        term_modes: Mapping[int, int],  # noqa: ARG002
    ) -> bool:
        if len(term_type) > MAX_TERMINAL:
            return False
        self._terminal = term_type or "dumb"
        self._size = term_size[:2]
        return True

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        self._kind, self._command = "command", command
        # A program does not get a zero byte in an argument.
        return len(command) <= MAX_COMMAND and "\0" not in command

    def subsystem_requested(self, subsystem: str) -> bool:
        self._kind, self._terminal = "sftp", ""
        return subsystem == "sftp"

    def session_started(self) -> None:
        self._task = asyncio.create_task(self._run())

    def data_received(self, data: bytes, datatype: int | None) -> None:  # noqa: ARG002
        if self._stdin is None:
            assert self._channel is not None  # noqa: S101
            self._early.append(data)
            self._channel.pause_reading()
        elif self._stdin[1].open:
            self._stdin[0].write(data)

    def eof_received(self) -> bool:
        self._ended_early = True
        # Later: asyncio loses data that is written, and followed by the end, while it resumes a writer.
        asyncio.get_running_loop().call_soon(self._close_stdin)
        return True

    def pause_writing(self) -> None:
        self._brake.pull("channel")

    def resume_writing(self) -> None:
        self._brake.release("channel")

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:  # noqa: ARG002
        self._size = (width, height)
        self._set_size()

    def signal_received(self, signal: str) -> None:
        if self._started:
            self._signals.add(signal)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client has closed the channel, or is gone."""
        self._channel = None
        if self._task is not None:
            self._task.cancel()
        self._stop()
        self._link.forget_channel(self._number)
        self._close()
        self._server.remove_channel(self._brake)

    # The program.

    def _on_event(self, event: Event, descriptors: list[int]) -> None:
        close_all(descriptors)
        if isinstance(event, Started):
            self._started = True
        else:
            self._told = True
            self._end = self._end or event
        self._changed.set()

    def _stop(self) -> None:
        """A program may run, or start later."""
        if not self._told:
            self._told = True
            self._link.send_soon(Stop(self._number))

    async def _run(self) -> None:
        channel = self._channel
        assert channel is not None  # noqa: S101
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._start()
                await self._wait_until(lambda: self._started or self._end is not None)
        except (AgentUnavailable, TimeoutError, OSError):
            self._end = NotStarted(self._number, "the server is not available; try again later")
            self._stop()
        if self._started:
            await self._connect()
            # The last output comes before the exit status, or it is lost.
            await self._wait_until(lambda: self._end is not None and not self._streams)
        end = self._end
        assert end is not None  # noqa: S101
        if end.reason:
            newline = "\r\n" if self._terminal else "\n"
            channel.write(f"{end.reason}{newline}".encode(), asyncssh.EXTENDED_DATA_STDERR)
        channel.exit(end.code if isinstance(end, Ended) and end.code >= 0 else _FAILED)

    async def _start(self) -> None:
        """The streams are made here and given away: this process never sees the files of a site."""
        if self._terminal:
            self._master, theirs = os.openpty()
            given = [theirs]
            # The terminal that the program sees is inside the container; this one only carries bytes.
            tty.setraw(theirs)
            self._set_size()
        else:
            (stdin, to_program), (from_stdout, stdout), (from_stderr, stderr) = (
                os.pipe(),
                os.pipe(),
                os.pipe(),
            )
            self._pipes = [to_program, from_stdout, from_stderr]
            given = [stdin, stdout, stderr]
        try:
            start = Start(self._number, self._kind, self._command, self._terminal)
            await self._link.send(start, given)
        finally:
            close_all(given)

    async def _connect(self) -> None:
        channel = self._channel
        assert channel is not None  # noqa: S101
        if self._terminal:
            await self._read(os.dup(self._master), None)
            await self._write(os.dup(self._master))
        else:
            await self._read(self._pipes.pop(1), None)
            await self._read(self._pipes.pop(1), asyncssh.EXTENDED_DATA_STDERR)
            await self._write(self._pipes.pop())
        assert self._stdin is not None  # noqa: S101
        for data in self._early:
            self._stdin[0].write(data)
        self._early.clear()
        if not self._stdin[1].paused:
            channel.resume_reading()
        if self._ended_early:
            self._close_stdin()

    async def _read(self, descriptor: int, datatype: int | None) -> None:
        assert self._channel is not None  # noqa: S101
        self._streams += 1
        protocol = FromProgram(self._channel, self._brake, datatype, self._on_stream_end)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: protocol, os.fdopen(descriptor, "rb", buffering=0)
        )
        self._outputs.append(transport)

    async def _write(self, descriptor: int) -> None:
        assert self._channel is not None  # noqa: S101
        protocol = ToProgram(self._channel)
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(
            lambda: protocol, os.fdopen(descriptor, "wb", buffering=0)
        )
        self._stdin = transport, protocol

    def _on_stream_end(self) -> None:
        self._streams -= 1
        self._changed.set()

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _close_stdin(self) -> None:
        """A terminal has no end of its input but the key for it."""
        if self._stdin is not None and not self._terminal and self._stdin[1].open:
            self._stdin[0].write_eof()

    def _set_size(self) -> None:
        if self._master >= 0:
            columns, rows = (min(max(side, 1), _MAX_SIDE) for side in self._size)
            with suppress(OSError):
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def _close(self) -> None:
        self._signals.close()
        if self._stdin is not None:
            self._stdin[0].abort()
        for transport in self._outputs:
            transport.close()
        close_all(self._pipes)
        self._pipes.clear()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
