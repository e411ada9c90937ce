"""Turns lines of the edge's ledger into rows of a chunk. Personal data ends here: of the visitor's program
only the family is kept; the edge has already cut addresses to networks and left out query strings."""

import msgspec

from stead.node.telemetry.agents import reduce_agent
from stead.node.visits import PROBE_ADDRESS

SMALL_RESPONSE = 64 * 1024
"""It fits in the buffers of a connection, so its time says nothing about the visitor's network."""


METHODS = frozenset(
    (
        *("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "PURGE"),
        *("PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH"),
    )
)
OTHER_METHOD = "OTHER"
"""A visitor can send any word as its method."""
MAX_REASON = 100
MAX_USAGE = 2**32 - 1
"""What fits in the columns."""


class LedgerLine(msgspec.Struct, frozen=True):
    ts: float
    environment: str
    address: str
    status: int
    time: float
    peer: str = ""
    release: str = ""
    host: str = ""
    method: str = ""
    path: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    first_byte: str = ""
    cache: str = ""
    waf: str = ""
    trace: str = ""
    tls: str = ""
    agent: str = ""
    reason: str = ""
    sampled: str = ""
    vitals: str = ""
    """What a browser has measured, checked by the edge; for requests that send that."""
    function: str = ""
    """The version of the function that was asked, without its prefix."""
    cpu: str = ""
    """In milliseconds."""
    memory: str = ""
    """In kilobytes."""


_decode = msgspec.json.Decoder(LedgerLine).decode
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"}
)


def read_line(line: bytes) -> LedgerLine | None:
    """None if it is not a visit of this node: a probe, a request that another node counts, or no line."""
    try:
        visit = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # nginx writes the bytes of a visitor as they are.
        try:
            visit = _decode(line.decode("utf-8", "replace").encode())
        except msgspec.MsgspecError:
            return None
    is_visit = visit.environment and visit.address != PROBE_ADDRESS and not visit.peer
    return visit if is_visit else None


def format_row(visit: LedgerLine) -> bytes:
    """The values of `REQUEST_COLUMNS`."""
    agent = reduce_agent(visit.agent)
    method = visit.method if visit.method in METHODS else OTHER_METHOD
    texts = "\t".join((visit.release, visit.host, method, visit.path))
    if not texts.isprintable() or "\\" in texts:
        values = (visit.release, visit.host, method, visit.path)
        texts = "\t".join(value.translate(_ESCAPES) for value in values)
    row = (
        f"{visit.ts:014.3f}\t{texts}\t{visit.status}\t{visit.bytes_in}\t{visit.bytes_out}"
        f"\t{round(visit.time * 1000)}\t{first_byte_ms(visit)}\t{escape(visit.cache)}\t{escape(visit.waf)}"
        f"\t{escape(visit.trace)}\t{escape(visit.address)}\t{escape(visit.tls)}\t{agent.family}"
        f"\t{agent.device}\t{escape(visit.reason[:MAX_REASON])}\t{function_version(visit)}"
        f"\t{_read_number(visit.cpu, 1000)}\t{_read_number(visit.memory)}\n"
    )
    return row.encode("utf-8", "replace")


def function_version(visit: LedgerLine) -> str:
    return f"fnv_{escape(visit.function)}" if visit.function else ""


def _read_number(text: str, factor: int = 1) -> int:
    """What a process of a function has reported about itself; 0 if that is no number."""
    try:
        return min(max(round(float(text) * factor), 0), MAX_USAGE) if text else 0
    except (ValueError, OverflowError):
        return 0


def escape(value: str) -> str:
    return value if value.isprintable() and "\\" not in value else value.translate(_ESCAPES)


def first_byte_ms(visit: LedgerLine) -> int:
    """-1 if it is not known."""
    if not visit.first_byte or visit.first_byte == "-":
        return round(visit.time * 1000) if visit.bytes_out <= SMALL_RESPONSE else -1
    total, known = 0.0, False
    for part in visit.first_byte.replace(":", ",").split(","):
        try:
            total, known = total + float(part), True
        except ValueError:
            continue
    return round(total * 1000) if known else -1
