"""Spans: the parts of traced requests. That of the edge is in its ledger; applications report the others."""

import time
from collections.abc import Callable, Sequence

from stead.node.drivers.driver import SiteSpan
from stead.node.telemetry.daily_volume import DailyVolume
from stead.node.telemetry.ledger_rows import LedgerLine, escape, first_byte_ms
from stead.node.telemetry.spool import NewRows, Spool
from stead.protocol.telemetry import TIME_DIGITS

SLOW_MS = 1_000
MAX_NAME = 300
BYTES_PER_DAY = 200 << 20
"""Of what the applications of one environment report."""
_TOO_MUCH = (
    f"Traces are left out from here on, for an hour or more: this environment has reported more than"
    f" {BYTES_PER_DAY >> 20} MB of them in a day."
)
OLDEST_SECONDS, NEWEST_SECONDS = 8 * 86_400, 300
"""Before and after now. An application can report any time."""


def is_traced(visit: LedgerLine) -> bool:
    """Requests that fail or are slow are always traced, others if the edge has chosen them."""
    return visit.sampled == "1" or visit.status >= 500 or first_byte_ms(visit) >= SLOW_MS


def edge_span_id(trace_id: str) -> str:
    """The edge names itself so in the `traceparent` of traces that begin there."""
    return trace_id[8:24]


def add_edge_span(rows: NewRows, visit: LedgerLine) -> None:
    began = visit.ts - visit.time
    row = _format(
        (visit.trace, edge_span_id(visit.trace), "", "edge", f"{visit.method} {visit.path}"),
        began,
        round(visit.time * 1_000_000),
        is_error=visit.status >= 500,
        status_code=visit.status,
    )
    rows.add(visit.environment, began, row)


class SpanSource:
    """Its methods block. Spans that were not read before the node stops are lost: traces are samples."""

    def __init__(
        self,
        take_spans: Callable[[], Sequence[SiteSpan]],
        spool: Spool,
        add_notice: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        """`add_notice` gets an environment and a line for its log."""
        self._take_spans, self._spool, self._add_notice = take_spans, spool, add_notice
        self._volume = DailyVolume(BYTES_PER_DAY)

    def read_new(self) -> None:
        rows, now = NewRows("spans"), time.time()
        for span in self._take_spans():
            if not now - OLDEST_SECONDS <= span.began <= now + NEWEST_SECONDS:
                continue
            texts = (span.trace_id, span.span_id, span.parent_id, span.service, span.name)
            row = _format(
                texts, span.began, span.duration_us, is_error=span.is_error, status_code=span.status_code
            )
            if self._volume.take(span.environment, len(row), self._note_volume):
                rows.add(span.environment, span.began, row)
        if rows.count and not self._spool.is_full:
            self._spool.save({}, rows, now)

    def _note_volume(self, environment: str) -> None:
        self._add_notice(environment, _TOO_MUCH)


def _format(
    texts: tuple[str, str, str, str, str],
    began: float,
    duration_us: int,
    *,
    is_error: bool,
    status_code: int,
) -> bytes:
    trace, span, parent, service, name = (escape(text[:MAX_NAME]) for text in texts)
    status = "error" if is_error else "ok"
    row = (
        f"{began:0{TIME_DIGITS}.3f}\t{trace}\t{span}\t{parent}\t{service}\t{name}\t{duration_us}\t{status}"
        f"\t{status_code}\n"
    )
    return row.encode("utf-8", "replace")
