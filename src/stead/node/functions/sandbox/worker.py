"""A process of one version of one function. It handles one request at a time, until it has been idle for a
while or has to be replaced."""

import ctypes
import json
import os
import resource
import socket
import threading
import time
from typing import Any

from wasmtime import Engine

from . import messages
from .activity import Activity
from .exchange import CPU, MEMORY, SUBREQUESTS, Request, RequestRefused, build_response, read_request, refuse
from .guest import Guest, GuestFailed, Program, compile_function
from .host_calls import HostCalls, HostUnavailable
from .sizes import MAX_COMPILED, MAX_SOURCE
from .ticker import Ticker
from .tracing import MAX_NAME, SLOW_MS, Trace

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
COMPILE_CPU_SECONDS, COMPILE_BYTES = 120, 1 << 30
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
    """Compile the file `source` into `target`, and report the outcome."""
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


def _usage(cpu: float) -> tuple[tuple[str, str], tuple[str, str]]:
    """What a request has used, as headers for the edge."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (CPU, f"{(time.process_time() - cpu) * 1000:.3f}"), (MEMORY, str(most))


def _describe(request: Request, trace: Trace, began: float) -> dict[str, Any]:
    path = request.target.partition("?")[0]
    return {"trace": trace.about(), "began": began, "name": f"{request.method} {path}"[:MAX_NAME]}


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
        try:
            self._start()
        except GuestFailed as failed:
            messages.send(self._channel, {"failed": failed.reason, "detail": failed.detail})
            return
        messages.send(self._channel, {"ready": True})
        self._listening.settimeout(IDLE_SECONDS)
        self._accept()

    def _accept(self) -> None:
        while not self._goes_on:
            try:
                connection, _ = self._listening.accept()
            except (TimeoutError, OSError):
                return
            with connection:
                about = self._serve(connection)
            self._report(about)
            if self._host.is_out_of_step or (self._guest is None and not self._replace()):
                return
            self._goes_on = self._ticker.needs_thread

    def _start(self) -> None:
        self._activity.begin(START_SECONDS)
        self._ticker.begin()
        try:
            self._host.begin(time.monotonic() + START_SECONDS, depth=0, subrequests=0)
            self._guest = self._program.start(self._call_host, START_SECONDS)
            self._handled = 0
        finally:
            self._ticker.end(is_request=False)
            self._activity.end()

    def _replace(self) -> bool:
        try:
            self._start()
        except GuestFailed:
            return False
        return True

    def _call_host(self, op: str, arg: str) -> str:
        return self._host.call(op, arg)

    def _serve(self, connection: socket.socket) -> dict[str, Any]:
        """Return what is known about the request afterwards, for the host."""
        began, cpu = time.monotonic(), time.process_time()
        connection.settimeout(READ_SECONDS)
        reason, detail = "", ""
        request = None
        try:
            request = read_request(connection, self._request_bytes)
            response = self._handle(request, began, cpu)
        except RequestRefused as refused:
            reason, response = refused.reason, refuse(refused.status, refused.reason, *_usage(cpu))
        except GuestFailed as failed:
            reason, detail = failed.reason, failed.detail
            response = refuse(500 if reason == "function_exception" else 503, reason, *_usage(cpu))
        except (OSError, ValueError):
            return {}
        try:
            connection.sendall(response)
        except OSError:
            reason = reason or "visitor_gone"
        wall_ms = round((time.monotonic() - began) * 1000, 3)
        about: dict[str, Any] = {"wall_ms": wall_ms, "reason": reason, "detail": detail}
        trace = request.trace if request else None
        if request is not None and trace is not None:
            about |= _describe(request, trace, time.time() - wall_ms / 1000)
            about["status"] = int(response[9:12])
            about["calls"] = self._host.recorded.calls
            about["is_traced"] = trace.is_sampled or bool(reason) or wall_ms >= SLOW_MS
        return about

    def _handle(self, request: Request, began: float, cpu: float) -> bytes:
        wall = min(self._wall, request.left_ms / 1000) if request.left_ms else self._wall
        guest = self._guest
        if guest is None:
            raise GuestFailed("function_unavailable")
        trace = request.trace
        self._host.begin(began + wall, depth=request.depth, subrequests=request.subrequests, trace=trace)
        about = _describe(request, trace, time.time()) if trace else None
        self._activity.begin(wall + GRACE_SECONDS, about)
        self._ticker.begin()
        keep = False
        try:
            guest.set_deadline(wall)
            answer = guest.call(messages.encode_json(request.for_guest()))
            keep = True
            if len(answer) > MAX_ANSWER:
                raise RequestRefused(502, "function_response_too_large")
            try:
                decoded = json.loads(answer)
            except (ValueError, RecursionError):
                raise RequestRefused(502, "function_response_invalid") from None
            if isinstance(decoded, dict) and "failed" in decoded:
                text = str(decoded["failed"])
                # What has filled its memory would fill it again.
                keep = "out of memory" not in text
                raise GuestFailed("function_exception" if keep else "function_memory_limit", text)
            # The function that calls this one learns how much of the common budget is used.
            used = [(SUBREQUESTS, str(self._host.subrequests))] if request.depth else []
            return build_response(decoded, MAX_RESPONSE, *used, *_usage(cpu))
        except HostUnavailable:
            raise GuestFailed("function_time_limit") from None
        finally:
            self._ticker.end(has_failed=not keep)
            self._activity.end()
            self._handled += 1
            if not keep or self._fresh or self._handled >= REQUESTS_PER_INSTANCE:
                guest.close()
                self._guest = None

    def _report(self, about: dict[str, Any]) -> None:
        """After the response, so that no visitor waits for it. Ordinary requests are not reported."""
        lines, self._host.lines = self._host.lines, []
        if not (lines or about.get("reason") or about.get("is_traced")):
            return
        if self._reports.take(REPORT_BYTES + sum(map(len, lines))):
            self._channel.settimeout(5.0)
            messages.send(self._channel, {"log": lines, **about})
