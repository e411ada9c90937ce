"""Answers what functions ask their host: state, requests to listed hosts, calls of other functions.

The function is known from the channel, so no name in a question can reach what belongs to another one.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import structlog

from stead.node.functions import places
from stead.node.functions.outgoing import FetchRefused, Outgoing
from stead.node.functions.spec import BindingKind, BoundResource, FunctionSpec
from stead.protocol.function_state import STATE_OPERATIONS, StateOperation
from stead.shared.token_bucket import TokenBuckets

STATE_PER_SECOND, STATE_BURST = 200.0, 400
"""Of the functions of one site. All sites of a node share what the workers answer."""
FETCHES_PER_SECOND, FETCHES_BURST = 50.0, 200
"""Of the functions of one site: they must neither flood a host nor keep this process busy."""
BYTES_PER_SECOND, BYTES_BURST = 16 << 20, 64 << 20
"""What the functions of one site send and receive through this process."""

MAX_STATE_TEXT = 400_000
"""The longest value in base64, and its key."""
REFUSAL_SECONDS = 0.05
"""A refusal is answered after this time: the process waits for it, so it cannot keep this one busy with
questions that cost nothing."""

_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")

log = structlog.get_logger()

AskState = Callable[[FunctionSpec, StateOperation, str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Asks the control plane about the state of a function: the function, the operation, the namespace and the
arguments."""
FindActive = Callable[[str, str], FunctionSpec | None]


class BindingRefused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Bindings:
    def __init__(self, data: Path, ask_state: AskState, outgoing: Outgoing, find_active: FindActive) -> None:
        self._data, self._ask_state, self._outgoing = data, ask_state, outgoing
        self._find_active = find_active
        self._rates = TokenBuckets(STATE_PER_SECOND, STATE_BURST)
        self._fetches = TokenBuckets(FETCHES_PER_SECOND, FETCHES_BURST)
        self._traffic = TokenBuckets(BYTES_PER_SECOND, BYTES_BURST)

    async def answer(self, spec: FunctionSpec, question: dict[str, Any]) -> dict[str, Any]:
        """Never raises: the function gets an error with a code."""
        op = str(question.get("op", ""))
        until = time.monotonic() + seconds_left(question)
        try:
            async with asyncio.timeout(until - time.monotonic()):
                return await self._answer(spec, op, dict(question["arg"]), question)
        except TimeoutError:
            return _error("time.exhausted", "The answer did not arrive within the time of the request.")
        except BindingRefused as refused:
            refusal = _error(refused.code, str(refused))
        except FetchRefused as refused:
            refusal = _error("fetch.refused", str(refused))
        except (OSError, EOFError) as error:
            refusal = _error("fetch.failed", f"The request failed: {type(error).__name__}.")
        except (ValueError, TypeError, KeyError, OverflowError):
            refusal = _error("request.invalid", f"The arguments of {op[:64]} are not valid.")
        await asyncio.sleep(min(REFUSAL_SECONDS, max(0.0, until - time.monotonic())))
        return refusal

    async def _answer(
        self, spec: FunctionSpec, op: str, arg: dict[str, Any], question: dict[str, Any]
    ) -> dict[str, Any]:
        if (operation := STATE_OPERATIONS.get(op)) is not None:
            bound = _find(spec, "kv" if op.startswith("kv.") else "coord", arg)
            self._require_rate(spec.environment)
            self._require_traffic(spec.site, "state.rate_limited")
            rest = {name: value for name, value in arg.items() if name != "binding"}
            if (size := _size(rest)) > MAX_STATE_TEXT:
                raise BindingRefused("state.value_too_large", "A value has at most 256 KB.")
            told = await self._ask_state(spec, operation, bound.namespace, rest)
            found = told.get("ok")
            self._traffic.charge(spec.site, size + (_size(found) if isinstance(found, dict) else 0))
            return told
        if op == "fetch":
            if not self._fetches.take(spec.site):
                raise BindingRefused("fetch.rate_limited", "The functions of the site fetch too often.")
            self._require_traffic(spec.site)
            allowed = [host for bound in spec.bindings if bound.kind == "fetch" for host in bound.allow]
            answer = await self._outgoing.send(arg, allowed, spec.site)
            answer.pop("subrequests", None)
            self._traffic.charge(spec.site, _size(arg) + _size(answer))
            return {"ok": answer}
        if op == "service.call":
            return await self._call_service(spec, _find(spec, "service", arg), arg, question)
        raise BindingRefused("operation.unknown", f"There is no operation {op[:64]}.")

    def _require_rate(self, environment: str) -> None:
        if not self._rates.take(environment):
            message = "The functions of the site ask for their state too often."
            raise BindingRefused("state.rate_limited", message)

    def _require_traffic(self, site: str, code: str = "fetch.rate_limited") -> None:
        if not self._traffic.take(site):
            raise BindingRefused(code, "The functions of the site send and receive too much.")

    async def _call_service(
        self, spec: FunctionSpec, bound: BoundResource, arg: dict[str, Any], question: dict[str, Any]
    ) -> dict[str, Any]:
        target = self._find_active(bound.target, spec.site)
        if target is None:
            raise BindingRefused("service.unavailable", "The function is not deployed.")
        self._require_traffic(spec.site)
        more = {
            "x-stead-depth": str(int(question["depth"]) + 1),
            "x-stead-subrequests": str(int(question["subrequests"])),
            "x-stead-left": str(int(question["left_ms"])),
            **_trace_header(question),
        }
        path = places.socket_of(self._data, target.version)
        answer = await self._outgoing.send_to_socket(path, arg, more, spec.site)
        self._traffic.charge(spec.site, _size(arg) + _size(answer))
        used = answer.pop("subrequests", 0)
        return {"ok": answer, "subrequests": used}


def seconds_left(question: dict[str, Any]) -> float:
    """How long the request that asks may still take, according to its process."""
    try:
        return max(0.001, min(float(question.get("left_ms", 0)) / 1000, 30.0))
    except (ValueError, TypeError, OverflowError):
        return 0.001


def _trace_header(question: dict[str, Any]) -> dict[str, str]:
    """The other function continues the trace of this one."""
    header = question.get("traceparent")
    if not isinstance(header, str) or _TRACE.fullmatch(header) is None:
        return {}
    return {"traceparent": header}


def _find(spec: FunctionSpec, kind: BindingKind, arg: dict[str, Any]) -> BoundResource:
    bound = spec.binding(kind, str(arg.get("binding", "")))
    if bound is None:
        raise BindingRefused("binding.unknown", f"The function has no such binding of the kind {kind}.")
    return bound


def _size(message: dict[str, Any]) -> int:
    """Of its texts, such as a body or a value."""
    return sum(len(value) for value in message.values() if isinstance(value, str))


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
