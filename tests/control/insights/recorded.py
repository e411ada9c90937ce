"""Requests as a node records them, chunks of them, and how many have arrived."""

import hashlib
import time
from typing import Any

import msgspec

from stead.node.telemetry.ledger_rows import format_row, read_line
from stead.node.telemetry.site_logs import format_log_row, read_lines
from stead.node.telemetry.spans import add_edge_span
from stead.node.telemetry.spool import NewRows
from stead.node.telemetry.vitals import Vitals
from stead.node.visits import VITALS_PATH
from stead.protocol.telemetry import Chunk
from stead.shared.ids import new_id
from tests.control.served_site import ServedSite

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def ledger_line(environment: str, **wanted: Any) -> bytes:
    """A line as nginx writes it."""
    line = {
        "ts": round(time.time() - 60, 3),
        "site": "site_claimed",
        "environment": environment,
        "release": "",
        "host": "www.example.com",
        "method": "GET",
        "path": "/",
        "status": 200,
        "bytes_in": 100,
        "bytes_out": 1000,
        "time": 0.012,
        "upstream_time": "",
        "first_byte": "",
        "cache": "",
        "waf": "",
        "trace": TRACE,
        "address": "192.0.2.0",
        "tls": "TLSv1.3",
        "agent": FIREFOX,
        "peer": "",
        "reason": "",
        "sampled": "",
        "vitals": "",
        "function": "",
        "cpu": "",
        "memory": "",
    }
    assert wanted.keys() <= line.keys()
    return msgspec.json.encode(line | wanted)


def rows_of(lines: list[bytes]) -> NewRows:
    rows = NewRows("requests")
    for line in lines:
        visit = read_line(line)
        assert visit is not None
        rows.add(visit.environment, visit.ts, format_row(visit))
    return rows


def chunk_of(lines: list[bytes], id_: str = "") -> tuple[Chunk, bytes]:
    rows = rows_of(lines)
    content = rows.compress()
    return chunk_with(content, rows, id_), content


def chunk_with(content: bytes, rows: NewRows, id_: str = "") -> Chunk:
    """A description of a chunk with this content, which need not be what the rows say."""
    return Chunk(
        id_ or new_id("chunk"),
        rows.stream,
        len(content),
        hashlib.sha256(content).digest(),
        rows.count,
        rows.first,
        rows.last,
        time.time(),
    )


def log_chunk_of(environment: str, text: str) -> tuple[Chunk, bytes]:
    """A chunk of what an application has written to its log."""
    rows, now = NewRows("logs"), time.time()
    for line in read_lines(text, now):
        rows.add(environment, line.moment, format_log_row(line, "php"))
    content = rows.compress()
    return chunk_with(content, rows), content


def vitals_chunk_of(
    environment: str, *values: str, path: str = "/", seconds_ago: float = 60
) -> tuple[Chunk, bytes]:
    """A chunk with what browsers have measured, each on its own page view: `LCP=1200.0000;CLS=0.0100`."""
    vitals, moment = Vitals(), round(time.time() - seconds_ago, 3)
    for number, value in enumerate(values):
        trace = f"{number:032x}"
        for wanted in ({"path": path, "trace": trace}, {"path": VITALS_PATH, "vitals": f"{trace};{value}"}):
            visit = read_line(ledger_line(environment, ts=moment, **wanted))
            assert visit is not None
            (vitals.receive if visit.vitals else vitals.add_page_view)(visit)
    rows = vitals.take_rows()
    content = rows.compress()
    return chunk_with(content, rows), content


def span_chunk_of(environment: str, *lines: bytes) -> tuple[Chunk, bytes]:
    """A chunk with the spans of the edge for these lines of its ledger."""
    rows = NewRows("spans")
    for line in lines:
        visit = read_line(line)
        assert visit is not None
        assert visit.environment == environment
        add_edge_span(rows, visit)
    content = rows.compress()
    return chunk_with(content, rows), content


def stamp(seconds_ago: float = 60) -> str:
    """The beginning of a line of PHP."""
    return time.strftime("[%d-%b-%Y %H:%M:%S UTC]", time.gmtime(time.time() - seconds_ago))


async def count_requests(site: ServedSite) -> int:
    """How many requests of the site are there, in the rows and in the sums of minutes and of hours."""
    listed = await site.get("/insights/requests?limit=2000")
    for hours in (24, 720):
        volume = await site.get(f"/insights/requests/volume?hours={hours}")
        assert volume["requests"] == len(listed["requests"])
    return len(listed["requests"])
