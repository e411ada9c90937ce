"""What functions cannot do: every one is contained, its owner is told why, and its neighbour answers."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest

from stead.node.containers import cgroups
from stead.node.functions import places
from stead.node.functions.sandbox.host_calls import MAX_DEPTH, MAX_SUBREQUESTS
from stead.node.functions.served_version import FunctionRefused
from stead.node.functions.spec import FunctionSpec
from stead.shared.ids import new_id
from tests.node.functions import modules
from tests.node.functions.hosting import Hosting, binding
from tests.node.functions.modules import answering, asking, calling, module, saying
from tests.patience import time_limit
from tests.percentiles import p99

FLOOD = answering(
    before="(loop $l (global.set $top (i32.const 262144))"
    " (drop (call $call (i32.const 131072) (i32.const 3) (i32.const 140000) (i32.const 10))) (br $l))",
    data='(data (i32.const 131072) "log") (data (i32.const 140000) "{\\22text\\22:1}")',
)
ENDED = {
    "an endless loop": (modules.LOOP, "function_time_limit"),
    "more memory than it may": (modules.MEMORY, "function_trap"),
    "calls without an end": (modules.STACK, "function_stack_limit"),
    "an instruction that traps": (modules.TRAP, "function_trap"),
    "a division by zero": (modules.DIVISION, "function_trap"),
    "an answer outside of its memory": (modules.OUTSIDE, "function_trap"),
    "an answer of four gigabytes": (modules.HUGE_LENGTH, "function_trap"),
    "a place for the request outside of its memory": (modules.BAD_ALLOC, "function_trap"),
    "an endless loop of calls of its host": (FLOOD, "function_time_limit"),
}
REFUSED = {
    "no JSON": (saying("hello"), "function_response_invalid"),
    "JSON that is no object": (saying("[1]"), "function_response_invalid"),
    "an empty answer": (saying(""), "function_response_invalid"),
    "deeply nested JSON": (saying("[" * 60_000), "function_response_invalid"),
    "a status of text": (answering(status="200"), "function_response_invalid"),
    "an interim status": (answering(status=101), "function_response_invalid"),
    "a status out of range": (answering(status=1000), "function_response_invalid"),
    "a status that is true": (answering(status=True), "function_response_invalid"),
    "headers as an object": (answering(headers={"a": "b"}), "function_response_invalid"),
    "a header with three parts": (answering(headers=[["a", "b", "c"]]), "function_response_invalid"),
    "a header of numbers": (answering(headers=[["a", 1]]), "function_response_invalid"),
    "a line break in a header": (
        answering(headers=[["a", "b\r\nset-cookie: x=y"]]),
        "function_response_invalid",
    ),
    "a line break in the name of a header": (
        answering(headers=[["a\r\nb", "c"]]),
        "function_response_invalid",
    ),
    "a null byte in a header": (answering(headers=[["a", "b\0"]]), "function_response_invalid"),
    "an empty name of a header": (answering(headers=[["", "b"]]), "function_response_invalid"),
    "a colon in the name of a header": (answering(headers=[["a:b", "c"]]), "function_response_invalid"),
    "a thousand headers": (answering(headers=[["a", "b"]] * 1000), "function_response_invalid"),
    "a body that is no base64": (
        saying(json.dumps({"status": 200, "body_base64": "!!"})),
        "function_response_invalid",
    ),
}
UNSTARTABLE = {
    "no WebAssembly": b"hello",
    "nothing": b"",
    "half of a module": modules.ECHO[:40],
    "an unknown import": module(
        "unreachable", imports='(import "env" "system" (func (param i32) (result i32)))'
    ),
    "a module without functions": bytes.fromhex("0061736d01000000"),
    "more memory than it may have": module("unreachable", pages="4096"),
}


@pytest.fixture(scope="module")
async def neighbour(host: Hosting) -> FunctionSpec:
    return await host.serve(answering(body="the neighbour"))


async def _still_answers(host: Hosting, spec: FunctionSpec) -> None:
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.body) == (200, "the neighbour")


@pytest.mark.parametrize("name", ENDED)
async def test_a_function_that_goes_wrong_is_ended_and_its_owner_told(
    name: str, host: Hosting, neighbour: FunctionSpec
) -> None:
    content, reason = ENDED[name]
    spec = await host.serve(content)
    seen = await host.ask(spec)
    # On a busy machine its process is killed before it has ended the function itself.
    if seen is not None:
        assert (seen.status, seen.reason) == (503, reason)
    assert await host.first_reason_of(spec) in (reason, "function_time_limit")
    await _still_answers(host, neighbour)


async def test_a_function_that_sleeps_is_killed(host: Hosting, neighbour: FunctionSpec) -> None:
    spec = await host.serve(modules.SLEEP, wall_ms=200)
    assert await host.ask(spec) is None
    assert await host.first_reason_of(spec) == "function_time_limit"
    await _still_answers(host, neighbour)


async def test_a_function_that_waits_too_long_for_its_host_has_reached_its_time_limit(
    host: Hosting, neighbour: FunctionSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer_late(spec: FunctionSpec, question: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(2 * spec.wall_ms / 1000)
        return {"ok": 1}

    spec = await host.serve(asking("kv.get", {"binding": "STORE", "key": "a"}))
    monkeypatch.setattr(host.serving, "_answer", answer_late)
    seen = await host.ask(spec)
    # On a busy machine its process is killed before it has ended the function itself.
    if seen is not None:
        assert (seen.status, seen.reason) == (503, "function_time_limit")
    assert await host.first_reason_of(spec) == "function_time_limit"
    monkeypatch.undo()
    await _still_answers(host, neighbour)


@pytest.mark.parametrize("name", REFUSED)
async def test_an_answer_that_is_no_response_is_not_sent(name: str, host: Hosting) -> None:
    content, reason = REFUSED[name]
    spec = await host.serve(content)
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.reason, seen.body) == (502, reason, "")


@pytest.mark.parametrize("name", UNSTARTABLE)
async def test_what_cannot_be_started_is_refused(name: str, host: Hosting) -> None:
    with pytest.raises(FunctionRefused):
        await host.serve(UNSTARTABLE[name])


@pytest.mark.parametrize(
    "name",
    ["X-Stead-Reason", "x-accel-redirect", "Connection", "Transfer-Encoding", "Content-Length", "Server"],
)
async def test_a_function_does_not_steer_the_edge(name: str, host: Hosting) -> None:
    spec = await host.serve(answering(headers=[[name, "1"], ["x-own", "2"]]))
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.headers["x-own"]) == (200, "2")
    assert seen.headers.get(name.lower()) in (None, "close", "5")


@pytest.mark.parametrize(
    ("operation", "argument", "code"),
    [
        ("kv.get", {"binding": "STORE", "key": "a"}, "binding.unknown"),
        ("kv.get", {"binding": "LOCKS", "key": "a"}, "binding.unknown"),
        ("coord.lock", {"binding": "../mine", "name": "a"}, "binding.unknown"),
        ("service.call", {"binding": "OTHER", "url": "/"}, "binding.unknown"),
        ("fetch", {"url": "https://example.com/"}, "fetch.refused"),
        ("fetch", {"url": "https://listed.example.com.evil.example/"}, "fetch.refused"),
        ("fetch", {"url": "https://listed.example.com:8443/"}, "fetch.refused"),
        ("fetch", {"url": "file:///etc/passwd"}, "fetch.refused"),
        ("fetch", {"url": "https://user:password@listed.example.com/"}, "fetch.refused"),
        ("fetch", {"url": "https://listed.example.com:0x50/"}, "request.invalid"),
        ("fetch", {}, "request.invalid"),
        ("system", {}, "operation.unknown"),
        ("kv.get", [], "binding.unknown"),
        ("kv.get", None, "request.invalid"),
    ],
)
async def test_what_a_function_may_not_ask_for_is_refused_with_a_code(
    operation: str, argument: object, code: str, host: Hosting, neighbour: FunctionSpec
) -> None:
    bound = (
        binding("coord", "LOCKS", namespace="mine"),
        binding("fetch", "WEB", allow=("listed.example.com",)),
    )
    spec = msgspec.structs.replace(neighbour, bindings=bound)
    asked = len(host.questions)
    told = await host.call_host(spec, operation, argument)
    assert told["error"]["code"] == code
    assert len(host.questions) == asked


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://127.0.0.1/",
            "http://localhost/",
            "http://[::1]/",
            "http://10.0.0.1/",
            "http://192.168.1.1/",
        ),
        *("http://169.254.169.254/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://100.64.0.1/"),
    ],
)
async def test_a_listed_host_is_not_reached_at_an_address_that_is_not_public(
    url: str, host: Hosting, neighbour: FunctionSpec
) -> None:
    """The address is checked when it is dialled, so a name that changes its address gains nothing."""
    spec = msgspec.structs.replace(neighbour, bindings=(binding("fetch", "WEB", allow=("*",)),))
    told = await host.call_host(spec, "fetch", {"url": url})
    assert told["error"]["code"] == "fetch.refused"


async def test_a_request_that_is_too_large_does_not_reach_the_function(host: Hosting) -> None:
    spec = await host.serve(modules.ECHO, request_bytes=1000)
    seen = await host.ask(spec, body=b"x" * 1001)
    assert seen is not None
    assert (seen.status, seen.reason) == (413, "function_request_too_large")


async def test_state_is_asked_for_in_the_namespace_of_the_binding_only(host: Hosting) -> None:
    """Whatever the function says about environments and namespaces."""
    forged = {"binding": "STORE", "key": "k", "namespace": "other", "environment": "env_other"}
    bound = binding("kv", "STORE", namespace="mine")
    spec = await host.serve(asking("kv.get", forged), bindings=(bound,), environment="env_mine")
    assert await host.ask(spec) is not None
    environment, operation, namespace, _ = host.questions[-1]
    assert (environment, operation, namespace) == ("env_mine", "kv.get", "mine")


HUGE = module(
    # The text of a response, and more than ten million letters between its ends.
    "(drop (memory.grow (i32.const 200)))"
    " (memory.fill (i32.const 2000009) (i32.const 97) (i32.const 10600000))"
    " (memory.copy (i32.const 2000000) (i32.const 1024) (i32.const 9))"
    " (memory.copy (i32.const 12600009) (i32.const 1040) (i32.const 2))"
    " (call $packed (i32.const 2000000) (i32.const 10600011))",
    data='(data (i32.const 1024) "{\\22body\\22:\\22") (data (i32.const 1040) "\\22}")',
)


async def test_an_answer_that_is_too_large_is_not_sent(host: Hosting) -> None:
    spec = await host.serve(HUGE, wall_ms=5000)
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.reason, seen.body) == (502, "function_response_too_large", "")


async def test_functions_that_call_each_other_in_circles_end(
    host: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = new_id("fn"), new_id("fn")
    calls = []
    send = host.bindings._outgoing.send_to_socket

    async def count(path: Path, *rest: Any) -> Any:
        calls.append(path)
        return await send(path, *rest)

    monkeypatch.setattr(host.bindings._outgoing, "send_to_socket", count)
    circle = calling("service.call", {"binding": "OTHER", "url": "/"})
    for function, target in ((first, second), (second, first)):
        bound = (binding("service", "OTHER", target=target),)
        spec = await host.serve(circle, function=function, site="site_c", bindings=bound, wall_ms=10_000)
    seen = await host.ask(spec)
    assert seen is not None
    assert (seen.status, seen.body) == (200, "called")
    assert len(calls) == MAX_DEPTH


async def test_a_request_causes_a_limited_number_of_others(host: Hosting) -> None:
    """Also when all of them fail."""
    flood = calling("fetch", {"url": "https://not-listed.example.com/"}, times=100)
    asked: list[str] = []
    answer = host.serving._answer

    async def note(spec: FunctionSpec, question: dict[str, Any]) -> dict[str, Any]:
        asked.append(str(question["op"]))
        return await answer(spec, question)

    host.serving._answer = note
    try:
        spec = await host.serve(flood, wall_ms=10_000)
        seen = await host.ask(spec)
    finally:
        host.serving._answer = answer
    assert seen is not None
    assert seen.status == 200
    assert len(asked) == MAX_SUBREQUESTS


async def test_a_visitor_who_reads_slowly_delays_nobody_else(host: Hosting) -> None:
    spec = await host.serve(answering(body="x" * 100_000))
    path = places.socket_of(host.data, spec.version)
    slow = [await asyncio.open_unix_connection(str(path), limit=1) for _ in range(3)]
    for _, writer in slow:
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(5):
        seen = await host.ask(spec)
        assert seen is not None
        assert len(seen.body) == 100_000
    for _, writer in slow:
        writer.close()


RATIO = 1.5
ROUNDS, VISITS = 20, 200


async def test_a_neighbour_hardly_notices_hostile_functions(host: Hosting, neighbour: FunctionSpec) -> None:
    """The rounds alternate, so that other work of the machine affects both, and the median of their ratios
    counts, so that a burst of it affects one pair. The functions and the visitor have most of the machine."""
    hostile = [
        await host.serve(content, wall_ms=300, site=f"site_{number}")
        for number, content in enumerate((modules.LOOP, modules.MEMORY, modules.SLEEP, FLOOD))
    ]
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    async with _processors_awake(), _visitor(host, neighbour) as visit:
        await visit(VISITS)
        for turn in range(2 * ROUNDS):
            ended, is_disturbed = asyncio.Event(), turn % 2 == 1
            attacks = [asyncio.create_task(_attack(host, spec, ended)) for spec in hostile if is_disturbed]
            times[is_disturbed].append(await visit(VISITS))
            ended.set()
            if attacks:
                await asyncio.wait(attacks)
    quiet, disturbed = map(p99, times[False]), map(p99, times[True])
    ratio = median(after / before for before, after in zip(quiet, disturbed, strict=True))
    alone, beside = (list(chain.from_iterable(times[is_disturbed])) for is_disturbed in (False, True))
    print(  # noqa: T201
        f"\nthe p99 of a neighbour: {p99(alone):.2f} ms alone, {p99(beside):.2f} ms beside hostile functions;"
        f" medians {median(alone):.2f} ms and {median(beside):.2f} ms; ratio {ratio:.2f} (goal {RATIO})"
    )
    assert ratio <= RATIO, "its requests wait for those of others"


STAYS_AWAKE = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


@asynccontextmanager
async def _processors_awake() -> AsyncIterator[None]:
    """Something for each processor to do that everything else goes before. A machine that saves power puts
    little work on few processors and lets the others sleep, and to wake one takes longer than a request."""
    busy = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", STAYS_AWAKE)
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            await process.wait()


@asynccontextmanager
async def _visitor(
    host: Hosting, spec: FunctionSpec
) -> AsyncIterator[Callable[[int], Awaitable[list[float]]]]:
    path = str(places.socket_of(host.data, spec.version))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.node.functions.visits", path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    await asyncio.to_thread(_put_first, host, process.pid)
    asking, answers = process.stdin, process.stdout

    async def visit(count: int) -> list[float]:
        asking.write(f"{count}\n".encode())
        async with time_limit(120):
            times: list[float] = json.loads(await answers.readline())
        return times

    try:
        yield visit
    finally:
        asking.close()
        await process.wait()


def _put_first(host: Hosting, visitor: int) -> None:
    """Give the functions a share of the machine that leaves little to others, also for the visitor."""
    group = host.cgroup.removeprefix("/")
    for weights, most in (
        (cgroups.ROOT / "cpu" / group / "cpu.shares", 262_144),
        (cgroups.ROOT / group / "cpu.weight", 10_000),
    ):
        if weights.exists():
            weights.write_text(str(most))
            weights.with_name("cgroup.procs").write_text(str(visitor))


async def _attack(host: Hosting, spec: FunctionSpec, ended: asyncio.Event) -> None:
    while not ended.is_set():
        await host.ask(spec, within=60.0)
