"""restic's REST protocol, version 2, in front of the object store.

A request has a token in its path, which names the site, the job and what it may do. Files are only added:
nothing is replaced or deleted, except locks, which are not stored at all. The control plane sees to it that
the jobs of a site do not disturb each other, and restic must not wait for locks that a killed node has left.
"""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime

import msgspec
import structlog

from stead.control.engines.object_store import (
    ObjectMissing,
    ObjectPart,
    ObjectStore,
    ObjectStoreUnavailable,
    RangeInvalid,
)
from stead.control.http.requests import Receive, Scope, Send
from stead.repositories import metrics
from stead.repositories.budgets import (
    BudgetExhausted,
    ByteBudgets,
    RequestSlots,
    TooManyRequests,
    UploadMemory,
    cost_of,
)
from stead.shared.repository_layout import (
    RepositoryFile,
    closed_key,
    kind_prefix,
    parse_file,
    parse_list,
)
from stead.shared.repository_tokens import RepositoryToken, TokenRefused, verify

MAX_FILE_BYTES = 64 * 1024 * 1024
"""restic makes packs of 16 MiB, and larger ones only for very large directories."""
MAX_LOCK_BYTES = 4096
RETRY_SECONDS = "1"
WRITABLE = frozenset({"data", "index", "snapshots"})
"""What a node adds. Keys and the configuration are created by the control plane."""
BELIEVED = frozenset({"index", "snapshots"})
"""What restic believes when it removes data. A pack that no index names is harmless."""
FILE_TYPE, LIST_TYPE = b"application/octet-stream", b"application/vnd.x.restic.rest.v2"

log = structlog.get_logger()


class Refused(Exception):
    """`outcome` is the name in the metrics."""

    def __init__(self, status: int, outcome: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(outcome)
        self.status, self.outcome, self.headers = status, outcome, headers


class ClientGone(Exception):
    """The client has closed its connection."""


class RepositoryGateway:
    """The ASGI application."""

    def __init__(self, objects: ObjectStore, keys: Sequence[bytes], *, memory: int) -> None:
        self._objects, self._keys = objects, keys
        self._slots, self._memory = RequestSlots(), UploadMemory(memory)
        self._budgets = ByteBudgets(self._measure_added)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
            return
        outcome = "failed"
        try:
            await self._handle(scope, receive, send)
            outcome = "done"
        except Refused as refusal:
            outcome = refusal.outcome
            await _respond(send, refusal.status, outcome.encode(), *refusal.headers)
        except ClientGone:
            outcome = "disconnected"
        finally:
            metrics.requests.labels(outcome).inc()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        token, path = self._authorize(scope["path"])
        method, headers = scope["method"], dict(scope["headers"])
        try:
            with self._slots.take(token):
                file, listed = parse_file(path), parse_list(path)
                if file is not None and method in ("GET", "HEAD"):
                    await self._read(token, file, method, headers, send)
                elif file is not None and method == "POST":
                    await self._add(token, file, headers, receive)
                    await _respond(send, 200)
                elif listed is not None and method == "GET":
                    await self._list(token, listed, send)
                elif file is not None and file.kind == "locks" and method == "DELETE":
                    await _respond(send, 200)
                else:
                    raise Refused(403, "not_allowed")
        except TooManyRequests:
            raise Refused(429, "too_many", (b"retry-after", RETRY_SECONDS.encode())) from None
        except BudgetExhausted:
            raise Refused(507, "over_budget") from None
        except ObjectMissing:
            raise Refused(404, "missing") from None
        except RangeInvalid:
            raise Refused(416, "invalid_range") from None
        except ObjectStoreUnavailable as error:
            log.warning("repositories.store_unavailable", reason=str(error))
            raise Refused(503, "store_unavailable", (b"retry-after", RETRY_SECONDS.encode())) from None

    def _authorize(self, path: str) -> tuple[RepositoryToken, str]:
        empty, prefix, text, *rest = (*path.split("/", 3), "", "", "")[:4]
        if empty or prefix != "r":
            raise Refused(404, "unknown_path")
        try:
            return verify(self._keys, text, now=time.time()), rest[0]
        except TokenRefused:
            raise Refused(401, "token_refused") from None

    async def _read(
        self,
        token: RepositoryToken,
        file: RepositoryFile,
        method: str,
        headers: dict[bytes, bytes],
        send: Send,
    ) -> None:
        if file.kind == "locks":
            raise ObjectMissing
        key = file.key(token.site)
        if method == "HEAD":
            size = await self._objects.size(key)
            await _start(send, 200, (b"content-length", b"%d" % size))
            await send({"type": "http.response.body"})
            return
        wanted = headers.get(b"range")
        part = await self._objects.open_part(key, None if wanted is None else wanted.decode("latin-1"))
        try:
            await self._send_part(part, send)
        finally:
            part.body.close()

    async def _send_part(self, part: ObjectPart, send: Send) -> None:
        more = [] if part.content_range is None else [(b"content-range", part.content_range.encode())]
        length = b"content-length", b"%d" % part.size
        await _start(send, 206 if more else 200, (b"content-type", FILE_TYPE), length, *more)
        # From here on an error can only be reported by closing the connection, which uvicorn does.
        while chunk := await self._objects.read_part(part):
            metrics.read_bytes.inc(len(chunk))
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body"})

    async def _list(self, token: RepositoryToken, kind: str, send: Send) -> None:
        if kind == "locks":
            await _respond(send, 200, b"[]", (b"content-type", LIST_TYPE))
            return
        separator, started = b"[", False
        async with aclosing(self._objects.list_objects(kind_prefix(token.site, kind))) as batches:
            async for objects in batches:
                entries = [
                    {"name": each.key.rpartition("/")[2], "size": each.size}
                    for each in objects
                    if not _is_hidden(token, each.modified_at)
                ]
                if not entries:
                    continue
                if not started:
                    await _start(send, 200, (b"content-type", LIST_TYPE))
                    started = True
                text = separator + msgspec.json.encode(entries)[1:-1]
                await send({"type": "http.response.body", "body": text, "more_body": True})
                separator = b","
        if started:
            await send({"type": "http.response.body", "body": b"]"})
        else:
            await _respond(send, 200, b"[]", (b"content-type", LIST_TYPE))

    async def _add(
        self, token: RepositoryToken, file: RepositoryFile, headers: dict[bytes, bytes], receive: Receive
    ) -> None:
        is_lock = file.kind == "locks"
        if not is_lock and (token.access != "append" or file.kind not in WRITABLE):
            raise Refused(403, "not_allowed")
        size = _declared_size(headers, MAX_LOCK_BYTES if is_lock else MAX_FILE_BYTES)
        with self._memory.reserve(token, size):
            if is_lock:
                await _receive_verified(receive, size, file.name)
                return
            await self._budgets.spend(token, size)
            added = False
            try:
                content = await _receive_verified(receive, size, file.name)
                if time.time() >= token.expires_at:
                    raise Refused(401, "token_refused")
                if file.kind in BELIEVED and await self._is_closed(token.site):
                    raise Refused(403, "closed")
                # A file that exists has the same content, because both have the digest that is their name.
                added = await self._objects.put_new(file.key(token.site), content)
            finally:
                if added:
                    metrics.added_bytes.inc(size)
                else:
                    self._budgets.give_back(token, size)

    async def _is_closed(self, site: str) -> bool:
        try:
            await self._objects.size(closed_key(site))
        except ObjectMissing:
            return False
        return True

    async def _measure_added(self, token: RepositoryToken) -> int:
        total = 0
        for kind in sorted(WRITABLE):
            async with aclosing(self._objects.list_objects(kind_prefix(token.site, kind))) as batches:
                async for objects in batches:
                    added = (each for each in objects if each.modified_at.timestamp() > token.issued_at)
                    total += sum(cost_of(each.size) for each in added)
        return total


def _is_hidden(token: RepositoryToken, modified_at: datetime) -> bool:
    return bool(token.as_of) and modified_at.timestamp() > token.as_of


def _declared_size(headers: dict[bytes, bytes], most: int) -> int:
    text = headers.get(b"content-length", b"")
    if not text.isdigit():
        raise Refused(411, "length_required")
    if int(text) > most:
        raise Refused(413, "too_large")
    return int(text)


async def _receive_verified(receive: Receive, size: int, name: str) -> bytes:
    """The body, whose SHA-256 must be the name of the file. The server limits the time that it takes."""
    content, digest, more = bytearray(), hashlib.sha256(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        content += part
        digest.update(part)
        more = message.get("more_body", False)
    if len(content) != size or digest.hexdigest() != name:
        raise Refused(400, "wrong_digest")
    return bytes(content)


async def _respond(send: Send, status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
    await _start(send, status, (b"content-length", b"%d" % len(body)), *headers)
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, status: int, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def _run_lifespan(receive: Receive, send: Send) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
