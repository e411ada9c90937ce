"""The state of functions: keys and values, counters, locks.

Everything belongs to an environment and a namespace in it. Every change names the revision that it is based
on, so of two changes at the same time one is done first, and the other one sees it.
"""

import asyncio
import base64
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from stead.control.engines.nats_state import RevisionConflict, StateEntry, StateStream
from stead.control.functions.state_quota import StateQuota, StateQuotaExceeded, measure
from stead.protocol.function_state import StateQuestion
from stead.protocol.subjects import state_stream, state_subject
from stead.shared.token_bucket import TokenBuckets

MAX_KEY_BYTES, MAX_VALUE_BYTES = 512, 256 << 10
MOST_LISTED = 100
MOST_READ = 200
"""How many keys a page looks at: those that are gone do not count as listed."""
LISTED_PER_SECOND, LISTED_BURST = 20_000.0, 100_000
"""Of one environment. NATS goes through all keys of a namespace for each page, and sends them."""
LISTED_BYTES, READ_COST = 100, 20
"""How many bytes of keys count as one key, and how much a key that is read costs: a request to NATS."""
MAX_TTL_SECONDS = 365 * 86_400
MAX_LOCK_SECONDS = 3600
ATTEMPTS = 30
"""Of a change that others are always faster with."""
DELETED = "Stead-Deleted"
EXPIRES = "Stead-Expires"
_DELETION_KEPT_SECONDS = 60
_LARGEST = 1 << 53
_LONGEST_NUMBER = str(-_LARGEST).encode()

Answer = dict[str, Any]


class StateRefused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Lock(Struct):
    until: float


class FunctionState:
    def __init__(
        self, stream: StateStream, quota: StateQuota, clock: Callable[[], float] = time.time
    ) -> None:
        self._stream, self._quota, self._clock = stream, quota, clock
        self._listings = TokenBuckets(LISTED_PER_SECOND, LISTED_BURST)
        self._operations: dict[str, Callable[[StateQuestion], Awaitable[Any]]] = {
            "kv.get": self._get,
            "kv.put": self._put,
            "kv.delete": self._delete,
            "kv.list": self._list,
            "coord.lock": self._lock,
            "coord.unlock": self._unlock,
            "coord.increment": self._increment,
            "coord.get": self._read_counter,
        }

    async def answer(self, question: StateQuestion) -> Answer:
        """Raises one of NATS_UNREACHABLE or DATABASE_FAILED: nobody knows then whether it was done."""
        try:
            return {"ok": await self._operations[question.op](question)}
        except StateRefused as refused:
            return _error(refused.code, str(refused))
        except RevisionConflict:
            return _error("state.conflict", "The key was changed by somebody else.")
        except StateQuotaExceeded as full:
            return _error("state.quota", str(full))
        except (KeyError, TypeError, ValueError, OverflowError):
            return _error("request.invalid", f"The arguments of {question.op} are not valid.")

    async def _get(self, question: StateQuestion) -> Answer | None:
        entry = await self._read(question, "k", _key(question.arg["key"]))
        if self._is_gone(entry):
            return None
        return {**_show(entry.data), "revision": entry.revision}

    async def _put(self, question: StateQuestion) -> Answer:
        key, value = _key(question.arg["key"]), _value(question.arg)
        ttl, wanted = _optional(question.arg, "ttl", MAX_TTL_SECONDS), question.arg.get("revision")
        headers = {EXPIRES: f"{self._clock() + ttl:.3f}"} if ttl else {}
        for _ in range(1 if wanted is not None else ATTEMPTS):
            entry = await self._read(question, "k", key)
            known = 0 if self._is_gone(entry) else entry.revision
            if wanted is not None and int(wanted) != known:
                raise RevisionConflict
            before = 0 if self._is_gone(entry) else measure(key, entry.data)
            change = measure(key, value) - before
            try:
                async with self._quota.reserve(question.environment, keys=int(before == 0), size=change):
                    return {"revision": await self._write(question, "k", key, value, entry, headers, ttl)}
            except RevisionConflict:
                if wanted is not None:
                    raise
                await _wait_a_moment()
        raise StateRefused("state.busy", "The key is changed by too many others at the same time.")

    async def _delete(self, question: StateQuestion) -> bool:
        key, wanted = _key(question.arg["key"]), question.arg.get("revision")
        for _ in range(ATTEMPTS):
            entry = await self._read(question, "k", key)
            if self._is_gone(entry):
                if wanted:
                    raise RevisionConflict
                return False
            if wanted is not None and int(wanted) != entry.revision:
                raise RevisionConflict
            try:
                await self._write(question, "k", key, b"", entry, {DELETED: "1"}, _DELETION_KEPT_SECONDS)
            except RevisionConflict:
                await _wait_a_moment()
                continue
            await self._quota.release(question.environment, keys=1, size=measure(key, entry.data))
            return True
        raise StateRefused("state.busy", "The key is changed by too many others at the same time.")

    async def _list(self, question: StateQuestion) -> Answer:
        prefix = str(question.arg.get("prefix") or "").encode()
        after = str(question.arg.get("cursor") or "").encode()
        limit = min(max(int(question.arg.get("limit") or MOST_LISTED), 1), MOST_LISTED)
        if not self._listings.take(question.environment):
            raise StateRefused("state.rate_limited", "The functions of the site list their keys too often.")
        subject = state_subject(question.environment, "k", question.namespace)
        found = await self._stream.list_subjects(state_stream(question.environment), f"{subject}.*")
        self._listings.charge(question.environment, max(len(found), sum(map(len, found)) / LISTED_BYTES))
        keys = sorted(bytes.fromhex(name.rpartition(".")[2]) for name in found)
        wanted = [key for key in keys if key.startswith(prefix) and key > after]
        shown: list[str] = []
        last = b""
        for key in wanted[:MOST_READ]:
            if len(shown) == limit:
                break
            last = key
            self._listings.charge(question.environment, READ_COST)
            if not self._is_gone(await self._read(question, "k", key)):
                shown.append(key.decode("utf-8", "replace"))
        has_more = bool(wanted) and last != wanted[-1]
        return {"keys": shown, "cursor": last.decode("utf-8", "replace") if has_more else None}

    async def _lock(self, question: StateQuestion) -> Answer | None:
        """The token is the number of the message that took the lock: it grows with every owner."""
        key = _key(question.arg["name"])
        ttl = _optional(question.arg, "ttl", MAX_LOCK_SECONDS) or 10.0
        entry = await self._read(question, "l", key)
        if not self._is_gone(entry) and msgspec.json.decode(entry.data, type=_Lock).until > self._clock():
            return None
        until = self._clock() + ttl
        value = msgspec.json.encode(_Lock(until))
        new = int(not entry.data)
        try:
            async with self._quota.reserve(question.environment, keys=new, size=new * measure(key, value)):
                token = await self._write(question, "l", key, value, entry, {}, ttl + _DELETION_KEPT_SECONDS)
        except RevisionConflict:
            return None
        return {"token": token, "until": until * 1000}

    async def _unlock(self, question: StateQuestion) -> bool:
        key, token = _key(question.arg["name"]), int(question.arg["token"])
        entry = await self._read(question, "l", key)
        if self._is_gone(entry) or entry.revision != token:
            return False
        try:
            await self._write(question, "l", key, b"", entry, {DELETED: "1"}, _DELETION_KEPT_SECONDS)
        except RevisionConflict:
            return False
        await self._quota.release(question.environment, keys=1, size=measure(key, entry.data))
        return True

    async def _increment(self, question: StateQuestion) -> int:
        key, by = _key(question.arg["name"]), int(question.arg.get("by", 1))
        for _ in range(ATTEMPTS):
            entry = await self._read(question, "c", key)
            value = (int(entry.data) if entry.data else 0) + by
            if abs(value) > _LARGEST or abs(by) > _LARGEST:
                raise StateRefused("state.overflow", "The counter would be larger than 2^53.")
            new = int(entry.revision == 0)
            try:
                async with self._quota.reserve(
                    question.environment, keys=new, size=new * measure(key, _LONGEST_NUMBER)
                ):
                    await self._write(question, "c", key, str(value).encode(), entry, {}, None)
            except RevisionConflict:
                await _wait_a_moment()
            else:
                return value
        raise StateRefused("state.busy", "The counter is changed by too many others at the same time.")

    async def _read_counter(self, question: StateQuestion) -> int:
        entry = await self._read(question, "c", _key(question.arg["name"]))
        return int(entry.data) if entry.data else 0

    async def _read(self, question: StateQuestion, kind: str, key: bytes) -> StateEntry:
        return await self._stream.get(state_stream(question.environment), _subject(question, kind, key))

    async def _write(
        self,
        question: StateQuestion,
        kind: str,
        key: bytes,
        value: bytes,
        entry: StateEntry,
        headers: Mapping[str, str],
        ttl: float | None,
    ) -> int:
        return await self._stream.put(
            _subject(question, kind, key),
            value,
            revision=entry.revision,
            headers=headers,
            expires=int(ttl) + 1 if ttl else None,
        )

    def _is_gone(self, entry: StateEntry) -> bool:
        expires = entry.headers.get(EXPIRES)
        is_expired = expires is not None and float(expires) <= self._clock()
        return entry.revision == 0 or DELETED in entry.headers or is_expired


def _subject(question: StateQuestion, kind: str, key: bytes) -> str:
    return f"{state_subject(question.environment, kind, question.namespace)}.{key.hex()}"


def _key(text: object) -> bytes:
    key = text.encode() if isinstance(text, str) else b""
    if not 0 < len(key) <= MAX_KEY_BYTES:
        raise StateRefused("state.key_invalid", f"A key is a text of 1 to {MAX_KEY_BYTES} bytes.")
    return key


def _value(arg: Mapping[str, Any]) -> bytes:
    """Text begins with `t` in the store, and bytes with `b`."""
    if isinstance(arg.get("value_base64"), str):
        value = b"b" + base64.b64decode(arg["value_base64"])
    elif isinstance(arg.get("value"), str):
        value = b"t" + arg["value"].encode("utf-8", "replace")
    else:
        raise TypeError
    if len(value) > MAX_VALUE_BYTES:
        raise StateRefused("state.value_too_large", f"A value has at most {MAX_VALUE_BYTES} bytes.")
    return value


def _show(data: bytes) -> Answer:
    if data.startswith(b"t"):
        return {"value": data[1:].decode("utf-8", "replace")}
    return {"value_base64": base64.b64encode(data[1:]).decode()}


def _optional(arg: Mapping[str, Any], name: str, largest: float) -> float | None:
    value = arg.get(name)
    if value is None:
        return None
    number = float(value)
    if not 0 < number <= largest:
        raise StateRefused("request.invalid", f"`{name}` is a number of seconds, at most {largest:g}.")
    return number


async def _wait_a_moment() -> None:
    await asyncio.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - not a secret


def _error(code: str, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}
