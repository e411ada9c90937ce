# Generated from `src/stead/node/functions/sandbox/host_calls.py` by `make generate`.
"""What a function can ask for. Some of it is answered in its own process; the rest by the host, which knows
which function asks."""

import base64
import hashlib
import hmac
import json
import os
import socket
import time
from typing import Any

from . import messages
from .tracing import RecordedCalls, Trace

MAX_SUBREQUESTS = 32
MAX_DEPTH = 4
MAX_LOG_BYTES = 64 << 10
ANSWER_GRACE_SECONDS = 0.05
"""How long a process waits for an answer of its host after the time of its request is over."""
MAX_RANDOM_BYTES = 65_536
MAX_ARGUMENT, MAX_SENT_HEADERS = 15 << 20, 100
_HASHES = {"SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_REMOTE = frozenset(
    (
        *("kv.get", "kv.put", "kv.delete", "kv.list", "coord.lock", "coord.unlock", "coord.increment"),
        *("coord.get", "fetch", "service.call"),
    )
)


class HostUnavailable(Exception):
    """The host has gone or does not answer in time."""


class HostCalls:
    """`variables` and `secrets` are those of this function only."""

    def __init__(
        self, channel: socket.socket, variables: dict[str, str], bindings: list[dict[str, Any]]
    ) -> None:
        self._channel, self._variables = channel, variables
        self._bindings = {binding["name"]: binding["kind"] for binding in bindings}
        self._until = 0.0
        self._logged = 0
        self.lines: list[str] = []
        self.subrequests = self.depth = 0
        self.recorded = RecordedCalls()
        self.is_out_of_step = False
        """Whether an answer may still arrive that nobody waits for. It must not be taken for the next one, so
        the process ends after its request."""
        self._trace: Trace | None = None

    def begin(
        self, began: float, until: float, depth: int = 0, subrequests: int = 0, trace: Trace | None = None
    ) -> None:
        """A request begins; `until` is the end of its time on the monotonic clock."""
        self._until, self.depth, self.subrequests = until, depth, subrequests
        self._trace = trace
        self.recorded.begin(began, is_wanted=trace is not None and trace.is_sampled)
        self._logged, self.lines = 0, []

    def call(self, op: str, arg: str) -> str:
        try:
            answer = self._answer(op, _parse(arg) if arg else {})
        except (ValueError, TypeError, KeyError, RecursionError):
            answer = _error("request.invalid", f"The arguments of {op[:64]} are not valid.")
        return messages.encode_json(answer)

    def _answer(self, op: str, arg: Any) -> dict[str, Any]:
        if not isinstance(arg, dict):
            raise TypeError
        if op == "log":
            return self._log(str(arg.get("text", "")))
        if op == "random":
            count = min(int(arg["bytes"]), MAX_RANDOM_BYTES)
            return {"ok": _encode(os.urandom(max(0, count)))}
        if op == "digest":
            return {
                "ok": _encode(hashlib.new(_HASHES[arg["algorithm"]], base64.b64decode(arg["data"])).digest())
            }
        if op == "hmac":
            key, data = base64.b64decode(arg["key"]), base64.b64decode(arg["data"])
            return {"ok": _encode(hmac.digest(key, data, _HASHES[arg["algorithm"]]))}
        if op == "env":
            return {"ok": {"variables": self._variables, "bindings": self._bindings}}
        if op == "time":
            return {"ok": {"now": time.time() * 1000, "monotonic": time.monotonic() * 1000}}
        if op == "sleep":
            return self._sleep(float(arg["ms"]))
        if op in _REMOTE:
            return self._ask_and_record(op, arg)
        return _error("operation.unknown", f"There is no operation {op[:64]}.")

    def _log(self, text: str) -> dict[str, Any]:
        left = MAX_LOG_BYTES - self._logged
        if left > 0:
            self.lines.append(text[:left])
            self._logged += min(len(text), left) + 1
        return {"ok": None}

    def _sleep(self, milliseconds: float) -> dict[str, Any]:
        time.sleep(max(0.0, min(milliseconds / 1000, self._until - time.monotonic() + 0.02)))
        return {"ok": None}

    def _ask_and_record(self, op: str, arg: dict[str, Any]) -> dict[str, Any]:
        began, is_error = time.monotonic(), True
        try:
            answer = self._ask(op, arg)
            is_error = "error" in answer
        finally:
            self.recorded.add(op, arg, began, is_error=is_error)
        return answer

    def _ask(self, op: str, arg: dict[str, Any]) -> dict[str, Any]:
        if self.subrequests >= MAX_SUBREQUESTS and op in ("fetch", "service.call"):
            return _error("subrequests.exhausted", f"A request may cause at most {MAX_SUBREQUESTS} others.")
        if op in ("fetch", "service.call"):
            self.subrequests += 1
        if op == "service.call" and self.depth >= MAX_DEPTH:
            return _error("service.too_deep", f"Functions may call each other {MAX_DEPTH} levels deep.")
        arg = _flatten(arg)
        left = self._until - time.monotonic()
        if left <= 0:
            raise HostUnavailable
        about: dict[str, Any] = {"left_ms": int(left * 1000)}
        about |= {"depth": self.depth, "subrequests": self.subrequests}
        if self._trace is not None:
            about["traceparent"] = self._trace.header
        try:
            self._channel.settimeout(left + ANSWER_GRACE_SECONDS)
            messages.send(self._channel, {"op": op, "arg": arg, **about})
            answer = messages.receive(self._channel)
        except (OSError, messages.ChannelClosed):
            self.is_out_of_step = True
            raise HostUnavailable from None
        self.subrequests = max(self.subrequests, int(answer.pop("subrequests", 0)))
        return answer


def _parse(arg: str) -> Any:
    if len(arg) > MAX_ARGUMENT:
        raise ValueError
    return json.loads(arg)


def _flatten(arg: dict[str, Any]) -> dict[str, Any]:
    """Only texts, numbers and headers: what a function builds otherwise would be large in the host."""
    flat = {name: value for name, value in arg.items() if isinstance(value, str | int | float | None)}
    headers = arg.get("headers")
    if headers is None:
        return flat
    if len(headers) > MAX_SENT_HEADERS:
        raise ValueError
    return {**flat, "headers": [(str(name), str(value)) for name, value in headers]}


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
