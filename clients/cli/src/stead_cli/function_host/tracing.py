# Generated from `src/stead/node/functions/sandbox/tracing.py` by `make generate`.
"""Which trace a request belongs to (W3C trace context), and what its parts took."""

import os
import re
import time
from typing import Any

from msgspec import Struct

MAX_CALLS = 64
"""Calls of the host that are recorded, of one request."""
MAX_NAME = 200
SLOW_MS = 1000
HEADER = "traceparent"

_SAMPLED = "13579bdf"
_HEADER = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


class Trace(Struct, frozen=True):
    id: str
    parent: str
    """The span that this request is a part of: that of the edge, or of the function that calls this one."""
    span: str
    """The span of this request."""
    is_sampled: bool

    @property
    def header(self) -> str:
        """For what the function itself requests."""
        return f"00-{self.id}-{self.span}-{'01' if self.is_sampled else '00'}"


def read_trace(header: str, *, from_edge: bool) -> Trace | None:
    """The edge passes the header of a visitor on, whose span is the visitor's; its own is a part of the
    trace's id."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    id_, span, flags = found.groups()
    return Trace(id_, id_[8:24] if from_edge else span, os.urandom(8).hex(), flags[1] in _SAMPLED)


class RecordedCalls:
    """What a request has asked its host for."""

    def __init__(self) -> None:
        self._began, self._is_wanted = 0.0, False
        self.calls: list[tuple[str, str, int, int, bool]] = []

    def begin(self, began: float, *, is_wanted: bool) -> None:
        self._began, self._is_wanted, self.calls = began, is_wanted, []

    def add(self, op: str, arg: dict[str, Any], began: float, *, is_error: bool) -> None:
        if not self._is_wanted or len(self.calls) >= MAX_CALLS:
            return
        service = {"fetch": "http", "service.call": "service"}.get(op, "state")
        name = f"{op} {_describe(op, arg)}".rstrip()[:MAX_NAME]
        offset, duration = began - self._began, time.monotonic() - began
        self.calls.append((service, name, _microseconds(offset), _microseconds(duration), is_error))


def _describe(op: str, arg: dict[str, Any]) -> str:
    """Without paths, keys or values, which may be personal."""
    if op == "fetch":
        host = re.match(r"https?://([A-Za-z0-9.:\[\]-]+)(?:[/?#]|$)", str(arg.get("url", "")))
        return host[1] if host else ""
    return str(arg.get("binding", ""))[:64]


def _microseconds(seconds: float) -> int:
    return max(0, round(seconds * 1_000_000))
