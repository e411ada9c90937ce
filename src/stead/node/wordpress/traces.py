"""Traces that WordPress sites report: what the parts of a request took."""

import contextlib
import re
import secrets
from collections import deque
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.node.drivers.driver import SiteSpan
from stead.shared.token_bucket import TokenBuckets

MAX_WAITING = 20_000
"""Spans of all sites that have not been read yet. More are dropped: traces are samples."""
MAX_ERRORS = 20
"""Of one site, that are not yet found in its log."""
MAX_SITES = 2_000
MIN_ERROR = 10
"""A shorter message could be a part of another one."""
SPANS_PER_SECOND, BURST = 200.0, 2_000
"""Of one site."""

_KIND = re.compile(r"(?:PHP message: )?(?:PHP )?[A-Z][A-Za-z ]{1,40}: {1,2}")
"""What PHP writes before a message: `PHP Fatal error:  `."""

Microseconds = Annotated[int, Meta(ge=0, le=3_600_000_000)]


class SpanMessage(Struct, frozen=True, array_like=True):
    service: Literal["php", "database", "http"]
    name: Annotated[str, Meta(max_length=300)]
    offset_us: Microseconds
    """Since the beginning of the request."""
    duration_us: Microseconds
    parent: Annotated[int, Meta(ge=-1, le=200)] = -1
    """The position of the span that it is a part of, in the same message; -1 for that of the edge."""
    is_error: bool = False


class TraceMessage(Struct, frozen=True):
    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
    began: Annotated[float, Meta(ge=1e9, lt=1e10)]
    spans: Annotated[tuple[SpanMessage, ...], Meta(max_length=200)]
    error: Annotated[str, Meta(max_length=300)] = ""
    """The beginning of the last message of PHP about an error."""


class SiteTraces:
    def __init__(self) -> None:
        self._waiting: deque[SiteSpan] = deque(maxlen=MAX_WAITING)
        self._allowed = TokenBuckets(SPANS_PER_SECOND, BURST)
        self._errors: dict[str, deque[tuple[str, str]]] = {}
        """Messages and traces of each environment. The log has the same messages."""

    def add(self, environment: str, message: TraceMessage) -> None:
        if len(message.error) >= MIN_ERROR:
            self._add_error(environment, message.error, message.id)
        ids = [secrets.token_hex(8) for _ in message.spans]
        edge = message.id[8:24]
        for position, span in enumerate(message.spans):
            if not self._allowed.take(environment):
                return
            self._waiting.append(
                SiteSpan(
                    environment,
                    message.id,
                    ids[position],
                    ids[span.parent] if 0 <= span.parent < position else edge,
                    span.service,
                    span.name,
                    message.began + span.offset_us / 1_000_000,
                    span.duration_us,
                    span.is_error,
                )
            )

    def find_trace(self, environment: str, line: str) -> str:
        """The trace of the request that has written this line to the log, if it is known, and not again for
        another line. Called from another thread."""
        errors = self._errors.get(environment)
        if not errors:
            return ""
        # A search in the whole line would take long for lines that are chosen badly.
        kind = _KIND.match(line)
        message = line[kind.end() :] if kind else line
        for known in list(errors):
            if message.startswith(known[0]) or line.startswith(known[0]):
                with contextlib.suppress(ValueError):
                    errors.remove(known)
                return known[1]
        return ""

    def _add_error(self, environment: str, message: str, trace: str) -> None:
        errors = self._errors.get(environment)
        if errors is None:
            while len(self._errors) >= MAX_SITES:
                self._errors.pop(next(iter(self._errors)))
            errors = self._errors[environment] = deque(maxlen=MAX_ERRORS)
        errors.append((message, trace))

    def take_spans(self) -> list[SiteSpan]:
        """Called from another thread."""
        found = []
        while self._waiting:
            try:
                found.append(self._waiting.popleft())
            except IndexError:
                break
        return found
