"""Serves a function on this machine. What runs it is what runs it on a node; only its state is local."""

import contextlib
import select
import socket
import struct
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from stead_cli.failures import CliError
from stead_cli.function_build import build, stamp
from stead_cli.function_host import exchange, messages
from stead_cli.function_host.exchange import Request, RequestRefused
from stead_cli.function_host.guest import Guest, GuestFailed, Program, compile_function, new_engine
from stead_cli.function_host.guest_kinds import is_component
from stead_cli.function_host.host_calls import HostCalls, HostUnavailable
from stead_cli.function_host.ticker import TICK_SECONDS
from stead_cli.function_state import LocalState
from stead_cli.texts import output_line, printable

START_SECONDS, READ_SECONDS, LOOK_SECONDS = 10.0, 15, 0.5
MOST_IDLE = 64
_READ_TIME = struct.pack("ll", READ_SECONDS, 0)
MAX_RESPONSE, MAX_ANSWER = 10 << 20, 32 << 20
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Limits:
    memory_mb: int = 64
    wall_ms: int = 1000
    request_bytes: int = 1 << 20


@dataclass
class FunctionServer:
    source: Path
    variables: dict[str, str]
    state: LocalState
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._engine = new_engine()
        self._host = self._connect()
        self._program: Program | None = None
        self._guest: Guest | None = None
        self._stamp: object = None
        self._problem = ""
        threading.Thread(target=self._tick, daemon=True).start()

    def _connect(self) -> HostCalls:
        """What the function asks, it asks over a channel, as on a node."""
        self._ours, theirs = socket.socketpair()
        bindings = [{"name": name, "kind": kind} for name, kind in self.state.bindings.items()]
        threading.Thread(target=self._answer, args=(theirs,), daemon=True).start()
        return HostCalls(self._ours, self.variables, bindings)

    def listen(self, port: int) -> socket.socket:
        """Only for this machine."""
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise CliError(
                f"Port {port} cannot be used: {error.strerror}", fix="Give another one with --port."
            ) from None

    def serve(self, listening: socket.socket) -> None:
        """Until the program is interrupted. The function is built again when a file of it has changed."""
        listening.setblocking(False)
        idle: list[socket.socket] = []
        while True:
            self.refresh()
            readable, _, _ = select.select([listening, *idle], [], [], LOOK_SECONDS)
            if listening in readable:
                idle += _accept(listening)
            for connection in set(readable) - {listening}:
                idle.remove(connection)
                with connection, contextlib.suppress(OSError, ValueError):
                    exchange.send_response(connection.fileno(), self._respond(connection.fileno()))
            # Browsers open some for later, and ask for nothing.
            while len(idle) > MOST_IDLE:
                idle.pop(0).close()

    def refresh(self) -> None:
        found = stamp(self.source)
        if found == self._stamp:
            return
        is_first, self._stamp = self._stamp is None, found
        began = time.monotonic()
        self._close()
        try:
            self._program = self._load(build(self.source))
            self._problem = ""
        except (CliError, GuestFailed) as failed:
            self._program = None
            detail = failed.detail or failed.reason if isinstance(failed, GuestFailed) else str(failed)
            self._problem = detail
            if is_first and isinstance(failed, CliError) and failed.code == "compiler.missing":
                raise
            _say(f"error: {detail}")
            return
        _say(f"Built {self.source.name} in {time.monotonic() - began:.1f} s.")

    def _load(self, module: bytes) -> Program:
        compiled = compile_function(self._engine, module)
        with tempfile.NamedTemporaryFile(prefix="stead-fn-") as file:
            file.write(compiled)
            file.flush()
            memory = self.limits.memory_mb << 20
            return Program(self._engine, file.name, memory, component=is_component(module))

    def _respond(self, connection: int) -> bytes:
        began, request = time.monotonic(), None
        try:
            request = exchange.read_request(connection, self.limits.request_bytes)
            self.refresh()
            response = self._handle(request)
        except RequestRefused as refused:
            response = _explain(refused.status, refused.reason)
        except GuestFailed as failed:
            status = 500 if failed.reason == "function_exception" else 503
            response = _explain(status, failed.reason, failed.detail)
            if failed.detail:
                _say(f"error: {failed.detail}")
        for line in self._host.lines:
            sys.stderr.write(f"  {output_line(line, sys.stderr)}\n")
        self._host.lines = []
        if request is not None:
            spent = (time.monotonic() - began) * 1000
            _say(f"{request.method} {request.target} {response[9:12].decode()} {spent:.1f} ms")
        return response

    def _handle(self, request: Request) -> bytes:
        # A page elsewhere can give its own name our address, and would then read what the function answers.
        if request.host.rpartition(":")[0] not in _LOCAL_NAMES and request.host not in _LOCAL_NAMES:
            raise RequestRefused(403, "host_unknown")
        request.scheme, wall = "http", self.limits.wall_ms / 1000
        guest, keep = self._started(), False
        now = time.monotonic()
        self._host.begin(now, now + wall, trace=request.trace)
        try:
            guest.set_deadline(wall)
            answer = guest.call(request.for_guest())
            keep = True
            return self._read(answer)
        except HostUnavailable:
            raise GuestFailed("function_time_limit") from None
        finally:
            if not keep or self._host.is_out_of_step:
                self._close()
            if self._host.is_out_of_step:
                # A late answer must not be taken for the next one.
                self._ours.close()
                lines, self._host = self._host.lines, self._connect()
                self._host.lines = lines

    def _read(self, content: bytes) -> bytes:
        if len(content) > MAX_ANSWER:
            raise RequestRefused(502, "function_response_too_large")
        answer = exchange.read_answer(content)
        if answer.failed is not UNSET:
            raise GuestFailed("function_exception", str(answer.failed))
        return exchange.build_response(answer, MAX_RESPONSE, "")

    def _started(self) -> Guest:
        if self._program is None:
            raise GuestFailed("function_unavailable", self._problem)
        if self._guest is None:
            now = time.monotonic()
            self._host.begin(now, now + START_SECONDS)
            self._guest = self._program.start(self._host.call, START_SECONDS)
        return self._guest

    def _close(self) -> None:
        if self._guest is not None:
            self._guest.close()
            self._guest = None

    def _answer(self, channel: socket.socket) -> None:
        with channel, contextlib.suppress(OSError, messages.ChannelClosed):
            while True:
                messages.send(channel, self.state.answer(messages.receive(channel)))

    def _tick(self) -> None:
        """The clock of the engine, which ends the function at its deadline."""
        while True:
            time.sleep(TICK_SECONDS)
            self._engine.increment_epoch()


def _accept(listening: socket.socket) -> list[socket.socket]:
    try:
        connection, _ = listening.accept()
    except OSError:
        # It has gone already.
        return []
    connection.setblocking(True)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _READ_TIME)
    return [connection]


def _explain(status: int, reason: str, detail: str = "") -> bytes:
    """As at the edge, with the details that only the developer sees."""
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    answer = exchange.Answer(status, headers, f"{reason}\n{detail}".strip() + "\n")
    return exchange.build_response(answer, MAX_RESPONSE, f"{exchange.REASON}: {reason}\r\n")


def _say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()
