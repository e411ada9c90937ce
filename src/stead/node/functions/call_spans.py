"""Spans of functions: what their requests took, and the parts of those that the edge has chosen. They wait in
memory until the agent takes them; what is more than fits is dropped, because traces are samples."""

import secrets
from collections import deque
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from stead.node.drivers.driver import SiteSpan
from stead.node.functions.spec import FunctionSpec
from stead.shared.token_bucket import TokenBuckets

MAX_WAITING = 20_000
MOST_TAKEN = 5_000
SPANS_PER_SECOND, BURST = 200.0, 2_000
"""Of one environment."""

Microseconds = Annotated[int, Meta(ge=0, le=3_600_000_000)]
SpanId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]


class TraceMessage(Struct, frozen=True):
    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
    parent: SpanId
    span: SpanId


class CallMessage(Struct, frozen=True, array_like=True):
    """Something that the function has asked its host for."""

    service: Literal["state", "http", "service"]
    name: Annotated[str, Meta(max_length=200)]
    offset_us: Microseconds
    duration_us: Microseconds
    is_error: bool


class RequestMessage(Struct, frozen=True):
    """What a process says about a request. The process runs code of a customer, so it may say anything."""

    trace: TraceMessage
    began: Annotated[float, Meta(ge=1e9, lt=1e10)]
    name: Annotated[str, Meta(max_length=200)]
    wall_ms: Annotated[float, Meta(ge=0, le=3_600_000)] = 0.0
    status: Annotated[int, Meta(ge=0, le=599)] = 0
    reason: Annotated[str, Meta(max_length=100)] = ""
    calls: Annotated[tuple[CallMessage, ...], Meta(max_length=64)] = ()


class CallSpans:
    def __init__(self) -> None:
        self._waiting: deque[SiteSpan] = deque(maxlen=MAX_WAITING)
        self._allowed = TokenBuckets(SPANS_PER_SECOND, BURST)

    def add(self, spec: FunctionSpec, report: dict[str, Any]) -> None:
        request = _read(report)
        if request is None or not self._allowed.take(spec.environment):
            return
        trace = request.trace
        self._waiting.append(
            SiteSpan(
                spec.environment,
                trace.id,
                trace.span,
                trace.parent,
                "function",
                f"{request.name} ({spec.version})",
                request.began,
                round(request.wall_ms * 1000),
                is_error=bool(request.reason) or request.status >= 500,
                status_code=request.status,
            )
        )
        for call in request.calls:
            if not self._allowed.take(spec.environment):
                return
            self._waiting.append(
                SiteSpan(
                    spec.environment,
                    trace.id,
                    secrets.token_hex(8),
                    trace.span,
                    call.service,
                    call.name,
                    request.began + call.offset_us / 1_000_000,
                    call.duration_us,
                    is_error=call.is_error,
                )
            )

    def take(self) -> tuple[SiteSpan, ...]:
        return tuple(self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TAKEN)))


def trace_of(report: dict[str, Any]) -> str:
    """The id of the trace that a report is about; empty if there is none."""
    request = _read(report)
    return request.trace.id if request else ""


def _read(report: dict[str, Any]) -> RequestMessage | None:
    if "trace" not in report:
        return None
    try:
        return msgspec.convert(report, RequestMessage)
    except msgspec.ValidationError:
        return None
