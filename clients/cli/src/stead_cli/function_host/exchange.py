# Generated from `src/stead/node/functions/sandbox/exchange.py` by `make generate`.
"""One HTTP request from the edge, and its response. The edge has checked it and sends it as a whole."""

import base64
import re
import socket
from dataclasses import dataclass
from typing import Any

from .tracing import HEADER as TRACE
from .tracing import Trace, read_trace

MAX_HEAD = 128 << 10
MAX_HEADERS = 100
REASON, SUBREQUESTS = "X-Stead-Reason", "X-Stead-Subrequests"
CPU, MEMORY = "X-Stead-Cpu", "X-Stead-Memory"
"""For the ledger of the edge: milliseconds, and the most kilobytes that the process has had."""

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
_USED = frozenset(("host", "x-forwarded-proto", TRACE))
_FIRST_PART = 16 << 10
_NO_BODY = (204, 304)


class RequestRefused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Request:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    host: str = "localhost"
    scheme: str = "https"
    depth: int = 0
    """Of how many functions this one is called through service bindings."""
    subrequests: int = 0
    """How many the functions before it have used."""
    left_ms: int = 0
    """How much time the function that calls this one has left; 0 for a visitor's request."""
    trace: Trace | None = None

    def for_guest(self) -> dict[str, Any]:
        headers = self.headers
        if self.trace is not None:
            headers = [(name, self.trace.header if name == TRACE else value) for name, value in headers]
        return {
            "method": self.method,
            "url": f"{self.scheme}://{self.host}{self.target}",
            "headers": headers,
            **encode_body(self.body),
        }


def encode_body(body: bytes) -> dict[str, str]:
    """Text is passed as it is, because encoding is slow."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def decode_body(message: dict[str, Any]) -> bytes:
    text = message.get("body_base64")
    if isinstance(text, str):
        return base64.b64decode(text, validate=True)
    body = message.get("body") or ""
    # A guest can build text that is not valid Unicode.
    return str(body).encode("utf-8", "replace")


def read_request(connection: socket.socket, max_body: int) -> Request:
    head, body = _read_head(connection)
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers, known = _read_headers(lines)
    length = int(known.get("content-length", 0))
    if length > max_body:
        raise RequestRefused(413, "function_request_too_large")
    depth = int(known.get("x-stead-depth", 0))
    return Request(
        method,
        target,
        headers,
        _read_body(connection, body, length),
        host=known.get("host", "localhost"),
        scheme=known.get("x-forwarded-proto", "https"),
        depth=depth,
        subrequests=int(known.get("x-stead-subrequests", 0)),
        left_ms=int(known.get("x-stead-left", 0)),
        trace=read_trace(known.get(TRACE, ""), from_edge=depth == 0),
    )


def _read_headers(lines: list[str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The headers for the function, and those that say something about the request."""
    headers, known = [], {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if name in _HOP_BY_HOP or name[:8] in _PRIVATE:
            known[name] = value
            continue
        headers.append((name, value))
        if name in _USED:
            known[name] = value
    return headers, known


def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    """The first line and the headers, and what was received of the body."""
    received = connection.recv(_FIRST_PART)
    while (end := received.find(b"\r\n\r\n")) < 0:
        part = connection.recv(_FIRST_PART)
        if not part or len(received) > MAX_HEAD:
            raise RequestRefused(400, "bad_request")
        received += part
    return received[:end], received[end + 4 :]


def _read_body(connection: socket.socket, received: bytes, length: int) -> bytes:
    if len(received) >= length:
        return received
    body = bytearray(received)
    while len(body) < length:
        part = connection.recv(1 << 20)
        if not part:
            raise RequestRefused(400, "bad_request")
        body += part
    return bytes(body)


def build_response(answer: object, max_body: int, *more: tuple[str, str]) -> bytes:
    """The response of a guest as bytes, with further headers. Raises RequestRefused if it is none."""
    if not isinstance(answer, dict):
        raise RequestRefused(502, "function_response_invalid")
    status = answer.get("status", 200)
    if not isinstance(status, int) or isinstance(status, bool) or not 200 <= status <= 599:
        raise RequestRefused(502, "function_response_invalid")
    try:
        body = b"" if status in _NO_BODY else decode_body(answer)
    except ValueError:
        raise RequestRefused(502, "function_response_invalid") from None
    if len(body) > max_body:
        raise RequestRefused(502, "function_response_too_large")
    return _head(status, [*_check_headers(answer.get("headers") or []), *more], len(body)) + body


def _check_headers(headers: object) -> list[tuple[str, str]]:
    if not isinstance(headers, list) or len(headers) > MAX_HEADERS:
        raise RequestRefused(502, "function_response_invalid")
    checked = []
    size = 0
    for pair in headers:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)):
            raise RequestRefused(502, "function_response_invalid")
        name, value = pair
        size += len(name) + len(value)
        if _NAME.fullmatch(name) is None or _UNSAFE_VALUE.search(value) or size > MAX_HEAD // 4:
            raise RequestRefused(502, "function_response_invalid")
        lower = name.lower()
        if lower not in _HOP_BY_HOP and lower[:8] not in _PRIVATE:
            checked.append((name, value))
    return checked


def refuse(status: int, reason: str, *more: tuple[str, str]) -> bytes:
    """A response without content: the edge shows its own page for the reason."""
    return _head(status, [(REASON, reason), *more], 0)


def _head(status: int, headers: list[tuple[str, str]], length: int) -> bytes:
    lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers)]
    lines += [f"Content-Length: {length}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")
