"""HTTP requests of functions: to listed hosts at public addresses, and to other functions of the site."""

import asyncio
import base64
import re
import ssl
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stead.node.containers.egress_rules import EgressRefused, EgressRules, HostRule
from stead.node.containers.names import LimitedNames, Resolve, resolve
from stead.node.functions.body_room import BodyRoom, HeldBody
from stead.shared.address_policy import Address

MAX_BODY = 10 << 20
MAX_HEAD = 64 << 10
MAX_HEADERS = 100
_METHOD = re.compile("[A-Z]{1,20}")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_SAFE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_PATH = re.compile(r"/[\x21-\x7e]*")
_USED = "x-stead-subrequests"
_OWN_HEADERS = frozenset(
    (
        *("host", "connection", "content-length", "transfer-encoding", "upgrade", "keep-alive", "te"),
        *("trailer", "expect", "proxy-authorization", "proxy-connection", "accept-encoding"),
    )
)


class FetchRefused(Exception):
    """The message says why, for the owner of the function."""


class Outgoing:
    """A response that redirects is returned as it is: following it is up to the function, and the new host
    must be listed too. The address is checked when it is dialled, so a name that changes its address gains
    nothing."""

    def __init__(
        self,
        rules: EgressRules,
        trust: Path | None = None,
        look_up: Resolve = resolve,
        room: BodyRoom | None = None,
    ) -> None:
        self._rules, self._resolve = rules, look_up
        self.room = room or BodyRoom()
        self._tls = ssl.create_default_context(cafile=str(trust) if trust else None)
        self._names: dict[str, LimitedNames] = {}

    def set_platform(self, addresses: Collection[Address]) -> None:
        """The addresses of the platform, which functions do not reach."""
        self._rules = replace(self._rules, platform=addresses)

    async def send(self, wanted: Mapping[str, Any], allowed: Sequence[str], site: str) -> dict[str, Any]:
        """A process waits for its answer, so there are never more requests than processes. Raises
        FetchRefused, OSError, EOFError or ValueError."""
        url = urlsplit(str(wanted["url"]))
        if url.scheme not in ("https", "http") or not url.hostname or "@" in url.netloc:
            raise FetchRefused("Only http and https URLs without a user name can be fetched.")
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 80)
        host = url.hostname.rstrip(".").lower()
        listed = tuple(_host_rule(pattern, port) for pattern in allowed)
        rules = replace(self._rules, hosts=listed)
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        names = self._names.setdefault(site, LimitedNames(self._resolve))
        try:
            rule = rules.rule_for(host, port)
            addresses = rules.permitted(rule, host, port, await names(host, port))
        except EgressRefused as refused:
            raise FetchRefused(str(refused)) from None
        name = f"[{host}]" if ":" in host else host
        authority = name if port == (443 if secure else 80) else f"{name}:{port}"
        request = _build_request(wanted, target, authority, {})
        reader, writer = await asyncio.open_connection(
            str(addresses[0]),
            port,
            ssl=self._tls if secure else None,
            server_hostname=host if secure else None,
            limit=MAX_HEAD,
        )
        return await _exchange(reader, writer, request, HeldBody(self.room, site))

    async def send_to_socket(
        self, path: Path, wanted: Mapping[str, Any], more: Mapping[str, str], site: str
    ) -> dict[str, Any]:
        """Call another function of this node."""
        url = urlsplit(str(wanted.get("url") or "/"))
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        request = _build_request(wanted, target, url.netloc or "function", more)
        reader, writer = await asyncio.open_unix_connection(str(path), limit=MAX_HEAD)
        return await _exchange(reader, writer, request, HeldBody(self.room, site))


def _host_rule(pattern: str, port: int) -> HostRule:
    host, colon, number = pattern.rpartition(":")
    if colon and number.isdecimal():
        return HostRule(host.lower(), int(number))
    return HostRule(pattern.lower(), port if port in (80, 443) else 443)


def _build_request(wanted: Mapping[str, Any], target: str, authority: str, more: Mapping[str, str]) -> bytes:
    method = str(wanted.get("method") or "GET").upper()
    if _METHOD.fullmatch(method) is None or method in ("CONNECT", "TRACE"):
        raise FetchRefused("The method cannot be used.")
    if _PATH.fullmatch(target) is None or _NAME.fullmatch(authority.strip("[]").replace(":", "")) is None:
        raise FetchRefused("The URL contains characters that must be encoded.")
    body = _decode_body(wanted)
    lines = [f"{method} {target} HTTP/1.1", f"host: {authority}", "connection: close"]
    headers = wanted.get("headers") or []
    if len(headers) > MAX_HEADERS:
        raise FetchRefused("There are too many headers.")
    for name, value in headers:
        if _NAME.fullmatch(name) is None or _SAFE.fullmatch(value) is None:
            raise FetchRefused("A header has a name or a value that cannot be sent.")
        known = name.lower()
        if known not in _OWN_HEADERS and known not in more and not known.startswith("x-stead-"):
            lines.append(f"{known}: {value}")
    lines += [f"{name}: {value}" for name, value in more.items()]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _decode_body(wanted: Mapping[str, Any]) -> bytes:
    text = wanted.get("body_base64")
    body = base64.b64decode(text) if text else str(wanted.get("body") or "").encode("utf-8", "replace")
    if len(body) > MAX_BODY:
        raise FetchRefused(f"The body has more than {MAX_BODY} bytes.")
    return body


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, held: HeldBody
) -> dict[str, Any]:
    try:
        writer.write(request)
        await writer.drain()
        head = (await _read_head(reader)).decode("latin-1").split("\r\n")
        version, _, rest = head[0].partition(" ")
        status = rest.partition(" ")[0]
        if not version.startswith("HTTP/1.") or not (status.isascii() and status.isdecimal()):
            raise FetchRefused("The answer is not HTTP.")
        headers = [
            (name.strip().lower(), value.strip())
            for name, colon, value in (line.partition(":") for line in head[1:])
            if colon
        ]
        known = dict(headers)
        body = b""
        if not (request.startswith(b"HEAD ") or int(status) in (204, 304)):
            body = await _read_body(reader, known, held)
        shown = [
            (name, value)
            for name, value in headers
            if name not in ("connection", "transfer-encoding", "content-length", "keep-alive")
            and not name.startswith("x-stead-")
        ]
        if reason := known.get("x-stead-reason"):
            shown.append(("x-function-error", reason))
        try:
            content = {"body": body.decode()}
        except UnicodeDecodeError:
            content = {"body_base64": base64.b64encode(body).decode()}
        used = {"subrequests": int(known[_USED])} if known.get(_USED, "").isdecimal() else {}
        return {"status": int(status), "headers": shown, **content, **used}
    finally:
        held.release()
        writer.close()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise FetchRefused("The headers of the answer are too large.") from None
        # Interim responses come before the real one.
        if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
            return head[:-4]


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str], held: HeldBody) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader, held)
    if (length := headers.get("content-length", "")).isdecimal():
        _require_size(held, int(length))
        return await reader.readexactly(int(length))
    body = bytearray()
    while part := await reader.read(1 << 16):
        _require_size(held, len(part))
        body += part
    return bytes(body)


async def _read_chunks(reader: asyncio.StreamReader, held: HeldBody) -> bytes:
    body = bytearray()
    while True:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError:
            raise FetchRefused("The answer is not HTTP.") from None
        size = int(line.split(b";")[0].strip(), 16)
        if size < 0:
            raise ValueError
        _require_size(held, size)
        if size == 0:
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)


def _require_size(held: HeldBody, more: int) -> None:
    if held.size + more > MAX_BODY:
        raise FetchRefused(f"The answer has more than {MAX_BODY} bytes.")
    if not held.grow(more):
        raise FetchRefused("The functions of the site receive too much at the same time.")
