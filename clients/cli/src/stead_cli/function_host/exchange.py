# Generated from `src/stead/node/functions/sandbox/exchange.py` by `make generate`.
"""One HTTP request from the edge, and its response. The edge has checked it and sends it as a whole."""

import base64
import json
import os
import re
import socket
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct

from .tracing import HEADER as TRACE
from .tracing import Trace, read_trace

MAX_HEAD = 128 << 10
MAX_HEADERS = 100
REASON, SUBREQUESTS = "X-Stead-Reason", "X-Stead-Subrequests"
CPU, MEMORY = "X-Stead-Cpu", "X-Stead-Memory"
"""For the ledger of the edge: milliseconds, and the most kilobytes that the process has had."""
SEND_SECONDS = 15.0

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer"),
        *("proxy-authenticate", "proxy-authorization", "proxy-connection", "date", "server"),
    )
)
_PRIVATE = frozenset(("x-stead-", "x-accel-"))
"""How the names of headers begin that pass between programs of the platform."""
_FIRST_PART = 16 << 10
_FITS = 64 << 10
"""The kernel takes at least this much of a response at once, also if nobody reads it."""
_NO_BODY = (204, 304)

encode = msgspec.json.Encoder().encode


class RequestRefused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Request(Struct):
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    host: str
    scheme: str
    depth: int
    """Of how many functions this one is called through service bindings."""
    subrequests: int
    """How many the functions before it have used."""
    left_ms: int
    """How much time the function that calls this one has left; 0 for a visitor's request."""
    trace: Trace | None

    @property
    def name(self) -> str:
        """For traces. What is after the path may be personal."""
        return f"{self.method} {self.target.partition('?')[0]}"

    def for_guest(self) -> bytes:
        message = {
            "method": self.method,
            "url": f"{self.scheme}://{self.host}{self.target}",
            "headers": self.headers,
        }
        try:
            # Text is passed as it is, because encoding is slow.
            message["body"] = self.body.decode()
        except UnicodeDecodeError:
            message["body_base64"] = base64.b64encode(self.body).decode()
        return encode(message)


class Answer(Struct):
    """What a function has returned."""

    status: Annotated[int, Meta(ge=200, le=599)] = 200
    headers: Annotated[list[tuple[str, str]], Meta(max_length=MAX_HEADERS)] | None = None
    body: str | None = None
    body_base64: str | None = None
    failed: Any = UNSET
    """If it has thrown an error, what the error says."""


_answers = msgspec.json.Decoder(Answer)


def read_request(connection: int, max_body: int) -> Request:
    head, body = _read_head(connection)
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers, known = _read_headers(lines)
    get = known.get
    length = int(get("content-length", 0))
    if length > max_body:
        raise RequestRefused(413, "function_request_too_large")
    depth = int(get("x-stead-depth", 0))
    trace = None
    if TRACE in known:
        trace = read_trace(known[TRACE], from_edge=depth == 0)
        headers.append((TRACE, trace.header if trace else known[TRACE]))
    return Request(
        method,
        target,
        headers,
        body if len(body) >= length else _read_body(connection, body, length),
        get("host", "localhost"),
        get("x-forwarded-proto", "https"),
        depth,
        int(get("x-stead-subrequests", 0)),
        int(get("x-stead-left", 0)),
        trace,
    )


def _read_headers(lines: list[str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The headers for the function, and those that say something about the request."""
    headers, known = [], {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        known[name] = value
        if name not in _HOP_BY_HOP and name[:8] not in _PRIVATE and name != TRACE:
            headers.append((name, value))
    return headers, known


def _read_head(connection: int) -> tuple[bytes, bytes]:
    """The first line and the headers, and what was received of the body."""
    received = os.read(connection, _FIRST_PART)
    while (end := received.find(b"\r\n\r\n")) < 0:
        part = os.read(connection, _FIRST_PART)
        if not part or len(received) > MAX_HEAD:
            raise RequestRefused(400, "bad_request")
        received += part
    return received[:end], received[end + 4 :]


def _read_body(connection: int, received: bytes, length: int) -> bytes:
    body = bytearray(received)
    while len(body) < length:
        part = os.read(connection, 1 << 20)
        if not part:
            raise RequestRefused(400, "bad_request")
        body += part
    return bytes(body)


def read_answer(content: bytes) -> Answer:
    """Raises RequestRefused if it is none."""
    try:
        return _answers.decode(content)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        pass
    try:
        # A guest can build text that is not valid Unicode.
        return msgspec.convert(json.loads(content.decode("utf-8", "replace")), Answer)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        raise RequestRefused(502, "function_response_invalid") from None


def build_response(answer: Answer, max_body: int, more: str) -> bytes:
    """The response of a guest as bytes, with further lines of headers. Raises RequestRefused."""
    body = b"" if answer.status in _NO_BODY else _decode_body(answer)
    if len(body) > max_body:
        raise RequestRefused(502, "function_response_too_large")
    return _head(answer.status, _check_headers(answer.headers or []) + more, len(body)) + body


def _decode_body(answer: Answer) -> bytes:
    if answer.body_base64 is None:
        return (answer.body or "").encode("utf-8", "replace")
    try:
        return base64.b64decode(answer.body_base64, validate=True)
    except ValueError:
        raise RequestRefused(502, "function_response_invalid") from None


def _check_headers(headers: list[tuple[str, str]]) -> str:
    lines = ""
    for name, value in headers:
        if _UNSAFE_VALUE.search(value):
            raise RequestRefused(502, "function_response_invalid")
        if _is_passed(name):
            lines += f"{name}: {value}\r\n"
    if len(lines) > MAX_HEAD // 4:
        raise RequestRefused(502, "function_response_invalid")
    return lines


@lru_cache(256)
def _is_passed(name: str) -> bool:
    """Whether a function may send this header. Raises RequestRefused if it is not the name of one."""
    if _NAME.fullmatch(name) is None:
        raise RequestRefused(502, "function_response_invalid")
    lower = name.lower()
    return lower not in _HOP_BY_HOP and lower[:8] not in _PRIVATE


def refuse(status: int, reason: str, more: str = "") -> bytes:
    """A response without content: the edge shows its own page for the reason."""
    return _head(status, f"{REASON}: {reason}\r\n{more}", 0)


def _head(status: int, lines: str, length: int) -> bytes:
    head = f"HTTP/1.1 {status} -\r\n{lines}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    return head.encode("latin-1", "replace")


def send_response(connection: int, response: bytes) -> None:
    """Raises OSError if the other side has gone, or does not read."""
    rest = response[os.write(connection, response[:_FITS]) :]
    if rest:
        with socket.socket(fileno=os.dup(connection)) as stream:
            stream.settimeout(SEND_SECONDS)
            stream.sendall(rest)
