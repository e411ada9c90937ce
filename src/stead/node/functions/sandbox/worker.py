"""A process of one version of one function. It handles one request at a time, until it has been idle for a
while or has to be replaced."""

import ctypes
import os
import resource
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from wasmtime import Engine

from . import messages
from .activity import Activity, describe
from .exchange import (
    CPU,
    MEMORY,
    SUBREQUESTS,
    Answer,
    Request,
    RequestRefused,
    build_response,
    read_answer,
    read_request,
    refuse,
    send_response,
)
from .guest import Guest, GuestFailed, Program, compile_function
from .host_calls import HostCalls, HostUnavailable
from .sizes import MAX_COMPILED, MAX_SOURCE
from .ticker import Ticker
from .tracing import SLOW_MS

REQUESTS_PER_INSTANCE = 1000
IDLE_SECONDS = 60.0
READ_SECONDS = 15.0
START_SECONDS = 10.0
"""How long an instance may take until it can handle requests."""
MAX_RESPONSE, MAX_ANSWER = 10 << 20, 32 << 20
"""What a visitor gets, and how it is written by the function."""
OVERHEAD_BYTES = 256 << 20
"""How much memory a process uses besides that of the function."""
GRACE_SECONDS = 0.1
COMPILE_CPU_SECONDS, COMPILE_BYTES, COMPILE_NICENESS = 120, 1 << 30, 10
REPORTS_PER_SECOND, REPORTS_BURST = 256 << 10, 1 << 20
"""In bytes. What is more is dropped."""
REPORT_BYTES = 1000
"""What a report counts besides its lines."""
_OOM_SCORE = "900"
"""More than that of the container."""
_SET_DUMPABLE = 4


def become(uid: int) -> None:
    """Give up all privileges: the process is its own user from now on. If all functions together have no
    memory left, it is ended, and never the first process of the container."""
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write(_OOM_SCORE)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    resource.setrlimit(resource.RLIMIT_NPROC, (64, 64))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
    # Otherwise it could not open the file of its function through /proc. No other process has this user.
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def compile_file(engine: Engine, channel: socket.socket, source: int, target: int) -> None:
    """Compile the file `source` into `target`, and report the outcome. Visitors get the CPU first."""
    os.nice(COMPILE_NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (COMPILE_CPU_SECONDS, COMPILE_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (COMPILE_BYTES, COMPILE_BYTES))
    try:
        compiled = _require_size(compile_function(engine, _read_source(source)))
        with os.fdopen(target, "wb") as file:
            file.write(compiled)
    except GuestFailed as failed:
        messages.send(channel, {"failed": failed.reason, "detail": failed.detail})
    else:
        messages.send(channel, {"compiled": True})


def _read_source(source: int) -> bytes:
    with os.fdopen(source, "rb") as file:
        content = file.read(MAX_SOURCE + 1)
    if len(content) > MAX_SOURCE:
        raise GuestFailed("function_invalid", f"it has more than {MAX_SOURCE} bytes")
    return content


def _require_size(compiled: bytes) -> bytes:
    if len(compiled) > MAX_COMPILED:
        raise GuestFailed("function_invalid", f"compiled, it has more than {MAX_COMPILED} bytes")
    return compiled


def _usage(began_cpu: float, cpu: float) -> str:
    """What a request has used, as headers for the edge."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{CPU}: {(cpu - began_cpu) * 1000:.3f}\r\n{MEMORY}: {most}\r\n"


def _read_answer(content: bytes) -> Answer:
    if len(content) > MAX_ANSWER:
        raise RequestRefused(502, "function_response_too_large")
    return read_answer(content)


class ReportBudget:
    """How much a process reports: the host reads the reports of all processes of the node."""

    def __init__(self) -> None:
        self._left, self._since = float(REPORTS_BURST), time.monotonic()

    def take(self, size: int) -> bool:
        now = time.monotonic()
        self._left = min(REPORTS_BURST, self._left + (now - self._since) * REPORTS_PER_SECOND)
        self._since = now
        if size > self._left:
            return False
        self._left -= size
        return True


class Worker:
    def __init__(
        self, engine: Engine, channel: socket.socket, listening: socket.socket, compiled: int, activity: int
    ) -> None:
        self._channel, self._listening = channel, listening
        # Returns a descriptor. `accept` makes an object of it, with three further calls of the kernel.
        self._take: Callable[[], tuple[int, object]] = listening._accept  # type: ignore[attr-defined]  # noqa: SLF001
        self._activity = Activity(activity)
        settings = messages.receive(channel)
        self._wall = settings["wall_ms"] / 1000
        self._request_bytes: int = settings["request_bytes"]
        self._fresh: bool = settings["fresh"]
        self._ticker = Ticker(engine)
        self._host = HostCalls(channel, settings["variables"], settings["bindings"])
        memory, is_component = settings["memory_mb"] << 20, settings["component"]
        # Texts that a function passes are copied several times outside of its own memory.
        resource.setrlimit(resource.RLIMIT_DATA, (memory + OVERHEAD_BYTES, memory + OVERHEAD_BYTES))
        self._program = Program(engine, f"/proc/self/fd/{compiled}", memory, component=is_component)
        self._guest: Guest | None = None
        self._handled = 0
        self._reports = ReportBudget()
        self._goes_on = False

    def run(self) -> None:
        """Requests are handled in a thread, which is replaced when its priority was lowered."""
        self._goes_on, work = True, self._begin
        while self._goes_on:
            self._goes_on = False
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join()
            work = self._accept

    def _begin(self) -> None:
        self._ticker.enter_thread()
        try:
            self._start()
        except GuestFailed as failed:
            messages.send(self._channel, {"failed": failed.reason, "detail": failed.detail})
            return
        messages.send(self._channel, {"ready": True})
        self._accept()

    def _accept(self) -> None:
        self._ticker.enter_thread()
        # Otherwise all idle processes of the version would wake for each request.
        with select.epoll() as waiting:
            waiting.register(self._listening, select.EPOLLIN | select.EPOLLEXCLUSIVE)
            while not self._goes_on and waiting.poll(IDLE_SECONDS):
                try:
                    connection = self._take()[0]
                except BlockingIOError:
                    continue
                except OSError:
                    return
                try:
                    about = self._serve(connection)
                except (OSError, ValueError):
                    about = None
                finally:
                    os.close(connection)
                if about is not None:
                    self._report(about)
                if self._host.is_out_of_step or (self._guest is None and not self._replace()):
                    return
                self._goes_on = self._ticker.needs_thread

    def _start(self) -> None:
        now = time.monotonic()
        self._activity.begin(START_SECONDS)
        self._ticker.begin(now, time.process_time())
        try:
            self._host.begin(now, now + START_SECONDS)
            self._guest = self._program.start(self._call_host, START_SECONDS)
            self._handled = 0
        finally:
            self._ticker.end(time.process_time(), is_request=False)
            self._activity.end()

    def _replace(self) -> bool:
        try:
            self._start()
        except GuestFailed:
            return False
        return True

    def _call_host(self, op: str, arg: str) -> str:
        return self._host.call(op, arg)

    def _serve(self, connection: int) -> dict[str, Any] | None:
        """Return what the host is told about the request."""
        started_at, began, cpu = time.time(), time.monotonic(), time.process_time()
        # The edge sends a request as a whole. If it does not, the host ends this process.
        self._activity.begin(READ_SECONDS)
        reason, detail = "", ""
        request = None
        try:
            request = read_request(connection, self._request_bytes)
            response = self._handle(request, started_at, began, cpu)
        except RequestRefused as refused:
            reason = refused.reason
            response = refuse(refused.status, reason, _usage(cpu, time.process_time()))
        except GuestFailed as failed:
            reason, detail = failed.reason, failed.detail
            status = 500 if reason == "function_exception" else 503
            response = refuse(status, reason, _usage(cpu, time.process_time()))
        finally:
            self._activity.end()
        try:
            send_response(connection, response)
        except OSError:
            reason = reason or "visitor_gone"
        wall_ms = (time.monotonic() - began) * 1000
        trace = request.trace if request else None
        is_traced = trace is not None and (trace.is_sampled or bool(reason) or wall_ms >= SLOW_MS)
        if not (is_traced or reason or self._host.lines):
            return None
        about: dict[str, Any] = {"wall_ms": round(wall_ms, 3), "reason": reason, "detail": detail}
        if request is not None and trace is not None:
            about |= describe(started_at, trace, request.name)
            about |= {
                "status": int(response[9:12]),
                "calls": self._host.recorded.calls,
                "is_traced": is_traced,
            }
        return about

    def _handle(self, request: Request, started_at: float, began: float, began_cpu: float) -> bytes:
        wall = min(self._wall, request.left_ms / 1000) if request.left_ms else self._wall
        guest = self._guest
        if guest is None:
            raise GuestFailed("function_unavailable")
        self._host.begin(began, began + wall, request.depth, request.subrequests, request.trace)
        self._activity.begin(wall + GRACE_SECONDS, started_at, request.trace, request.name)
        self._ticker.begin(began, began_cpu)
        keep, cpu = False, 0.0
        try:
            guest.set_deadline(wall)
            content = guest.call(request.for_guest())
            keep = True
            answer = _read_answer(content)
            # What has filled its memory would fill it again.
            keep = answer.failed is UNSET or "out of memory" not in str(answer.failed)
            if answer.failed is not UNSET:
                raise GuestFailed(
                    "function_exception" if keep else "function_memory_limit", str(answer.failed)
                )
            cpu = time.process_time()
            used = _usage(began_cpu, cpu)
            if request.depth:
                # The function that calls this one learns how much of the common budget is used.
                used += f"{SUBREQUESTS}: {self._host.subrequests}\r\n"
            return build_response(answer, MAX_RESPONSE, used)
        except HostUnavailable:
            raise GuestFailed("function_time_limit") from None
        finally:
            self._ticker.end(cpu or time.process_time(), has_failed=not keep)
            self._handled += 1
            if not keep or self._fresh or self._handled >= REQUESTS_PER_INSTANCE:
                guest.close()
                self._guest = None

    def _report(self, about: dict[str, Any]) -> None:
        """After the response, so that no visitor waits for it. Ordinary requests are not reported."""
        lines, self._host.lines = self._host.lines, []
        if self._reports.take(REPORT_BYTES + sum(map(len, lines))):
            self._channel.settimeout(5.0)
            messages.send(self._channel, {"log": lines, **about})
