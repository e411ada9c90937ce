"""What a function that runs on this machine can ask for: state in memory, and requests to listed hosts.

The answers are those of a node. The state is lost when the program ends.
"""

import base64
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stead_sdk._sync.connections import Connections, Timeouts
from stead_sdk._urls import split_url
from stead_sdk.errors import APIConnectionError, ConfigurationError

MAX_KEY_BYTES, MAX_VALUE_BYTES, MOST_LISTED = 512, 256 << 10, 100
MAX_BODY = 10 << 20
_LARGEST = 1 << 53
_METHOD = re.compile("[A-Z]{1,20}")
_OWN_HEADERS = frozenset(
    (
        *("host", "connection", "content-length", "transfer-encoding", "upgrade", "keep-alive", "te"),
        *("trailer", "expect", "proxy-authorization", "proxy-connection", "accept-encoding"),
    )
)

Argument = dict[str, Any]


class Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Entry:
    value: Argument
    revision: int
    until: float | None = None


@dataclass
class LocalState:
    """`bindings` are the kinds of the bindings by name, `allowed` the hosts that `fetch` may reach."""

    bindings: dict[str, str]
    allowed: Sequence[str] = ()
    clock: Callable[[], float] = time.time
    _revision: int = 0
    _values: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _locks: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _counters: dict[tuple[str, str], int] = field(default_factory=dict)

    def answer(self, question: Argument) -> Argument:
        """Never raises: the function gets an error with a code."""
        op = str(question.get("op", ""))
        operations = {
            "kv.get": self._get,
            "kv.put": self._put,
            "kv.delete": self._delete,
            "kv.list": self._list,
            "coord.lock": self._lock,
            "coord.unlock": self._unlock,
            "coord.increment": self._increment,
            "coord.get": lambda arg: self._counters.get(self._place(arg, "coord", "name"), 0),
            "fetch": lambda arg: self._fetch(arg, float(question.get("left_ms", 1000)) / 1000),
            "service.call": _refuse_service,
        }
        try:
            return {"ok": operations[op](dict(question["arg"]))}
        except Refused as refused:
            return {"error": {"code": refused.code, "message": str(refused)}}
        except (KeyError, TypeError, ValueError, ConfigurationError):
            return {"error": {"code": "request.invalid", "message": f"The arguments of {op} are not valid."}}

    def _place(self, arg: Argument, kind: str, name: str) -> tuple[str, str]:
        binding, key = str(arg.get("binding", "")), arg[name]
        if self.bindings.get(binding) != kind:
            raise Refused("binding.unknown", f"The function has no such binding of the kind {kind}.")
        if not isinstance(key, str) or not 0 < len(key.encode()) <= MAX_KEY_BYTES:
            raise Refused("state.key_invalid", f"A key is a text of 1 to {MAX_KEY_BYTES} bytes.")
        return binding, key

    def _find(self, entries: dict[tuple[str, str], Entry], place: tuple[str, str]) -> Entry | None:
        found = entries.get(place)
        return None if found is None or (found.until and found.until <= self.clock()) else found

    def _next(self) -> int:
        self._revision += 1
        return self._revision

    def _get(self, arg: Argument) -> Argument | None:
        found = self._find(self._values, self._place(arg, "kv", "key"))
        return {**found.value, "revision": found.revision} if found else None

    def _put(self, arg: Argument) -> Argument:
        place, ttl, wanted = self._place(arg, "kv", "key"), arg.get("ttl"), arg.get("revision")
        name = "value_base64" if "value_base64" in arg else "value"
        value = arg[name]
        if not isinstance(value, str):
            raise TypeError
        size = len(base64.b64decode(value) if name == "value_base64" else value.encode("utf-8", "replace"))
        if size >= MAX_VALUE_BYTES:
            raise Refused("state.value_too_large", f"A value has at most {MAX_VALUE_BYTES} bytes.")
        self._require_revision(place, wanted)
        until = self.clock() + float(ttl) if ttl else None
        self._values[place] = Entry({name: value}, self._next(), until)
        return {"revision": self._revision}

    def _delete(self, arg: Argument) -> bool:
        place, wanted = self._place(arg, "kv", "key"), arg.get("revision")
        found = self._find(self._values, place)
        if found is None and not wanted:
            return False
        self._require_revision(place, wanted)
        del self._values[place]
        return True

    def _require_revision(self, place: tuple[str, str], wanted: object) -> None:
        found = self._find(self._values, place)
        if wanted is not None and int(str(wanted)) != (found.revision if found else 0):
            raise Refused("state.conflict", "The key was changed by somebody else.")

    def _list(self, arg: Argument) -> Argument:
        binding, _ = self._place({**arg, "key": "any"}, "kv", "key")
        prefix, after = str(arg.get("prefix") or ""), str(arg.get("cursor") or "")
        limit = min(max(int(arg.get("limit") or MOST_LISTED), 1), MOST_LISTED)
        keys = sorted((key for name, key in self._values if name == binding), key=str.encode)
        keys = [key for key in keys if key.startswith(prefix) and key.encode() > after.encode()]
        keys = [key for key in keys if self._find(self._values, (binding, key))]
        return {"keys": keys[:limit], "cursor": keys[limit - 1] if len(keys) > limit else None}

    def _lock(self, arg: Argument) -> Argument | None:
        place, ttl = self._place(arg, "coord", "name"), float(arg.get("ttl") or 10)
        if self._find(self._locks, place):
            return None
        until = self.clock() + ttl
        self._locks[place] = Entry({}, self._next(), until)
        return {"token": self._revision, "until": until * 1000}

    def _unlock(self, arg: Argument) -> bool:
        place = self._place(arg, "coord", "name")
        found = self._find(self._locks, place)
        if found is None or found.revision != int(arg["token"]):
            return False
        del self._locks[place]
        return True

    def _increment(self, arg: Argument) -> int:
        place = self._place(arg, "coord", "name")
        value = self._counters.get(place, 0) + int(arg.get("by", 1))
        if abs(value) > _LARGEST:
            raise Refused("state.overflow", "The counter would be larger than 2^53.")
        self._counters[place] = value
        return value

    def _fetch(self, arg: Argument, seconds: float) -> Argument:
        url, method = str(arg["url"]), str(arg.get("method") or "GET").upper()
        scheme, user, host, port, _ = split_url(url)
        if user or not _METHOD.fullmatch(method) or method in ("CONNECT", "TRACE"):
            raise Refused("fetch.refused", "The method or the URL cannot be used.")
        if not any(_covers(pattern, scheme, host, port) for pattern in self.allowed):
            raise Refused("fetch.refused", f"{host}:{port} is not listed: --fetch {host}")
        text = arg.get("body_base64")
        body = base64.b64decode(text) if text else str(arg.get("body") or "").encode("utf-8", "replace")
        headers = {
            name: value for name, value in arg.get("headers") or [] if name.lower() not in _OWN_HEADERS
        }
        try:
            connections = Connections(Timeouts(seconds, seconds))
            answer = connections.send(method, url, {**headers, "Connection": "close"}, body)
        except APIConnectionError as error:
            raise Refused("fetch.failed", f"The request failed: {error}") from None
        if len(answer.body) > MAX_BODY:
            raise Refused("fetch.refused", f"The answer has more than {MAX_BODY} bytes.")
        shown = [(name, value) for name, value in answer.headers.items() if name not in _OWN_HEADERS]
        try:
            content = {"body": answer.body.decode()}
        except UnicodeDecodeError:
            content = {"body_base64": base64.b64encode(answer.body).decode()}
        return {"status": answer.status, "headers": shown, **content}


def _covers(pattern: str, scheme: str, host: str, port: int) -> bool:
    name, colon, number = pattern.lower().rpartition(":")
    if not (colon and number.isdecimal()):
        name, number = pattern.lower(), "443" if scheme == "https" else "80"
    if port != int(number):
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else name in ("*", host)


def _refuse_service(_: Argument) -> None:
    raise Refused("service.unavailable", "Other functions do not run on this machine.")
