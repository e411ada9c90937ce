"""A site that asks its host as often and as much as it can: the host is one process for all sites."""

import asyncio
import contextlib
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from stead.node.functions import bindings, body_room
from stead.node.functions.body_room import BodyRoom
from stead.node.functions.spec import FunctionSpec
from stead.node.functions.state_client import Pace
from tests.node.functions.hosting import Hosting, binding, hosting
from tests.node.functions.modules import answering, asking, calling, module
from tests.patience import time_limit

STORE = (binding("kv", "STORE", namespace="mine"),)
STARTS_SLOWLY = module(
    "unreachable",
    # Counts to sixty million when it starts.
    more='(global $n (mut i32) (i32.const 60000000)) (func (export "_initialize") (loop $l'
    " (global.set $n (i32.sub (global.get $n) (i32.const 1))) (br_if $l (global.get $n))))",
)


@pytest.mark.parametrize(
    ("op", "arg", "code"),
    [
        ("kv.get", {"binding": "NONE", "key": "a"}, "binding.unknown"),
        ("service.call", {"binding": "NONE"}, "binding.unknown"),
        ("kv.put", {"binding": "STORE", "key": "a", "value": "x" * 500_000}, "state.value_too_large"),
        ("unknown", {}, "operation.unknown"),
        ("fetch", {"url": 7}, "fetch.refused"),
    ],
)
async def test_a_refusal_takes_a_moment(op: str, arg: dict[str, Any], code: str, host: Hosting) -> None:
    """Its process waits for it, so it cannot ask more often. Each of these would cost the site nothing."""
    spec = await host.serve(answering(), site="site_refused", start=False, bindings=STORE)
    began = time.monotonic()
    told = await host.call_host(spec, op, arg)
    assert told["error"]["code"] == code
    assert time.monotonic() - began >= bindings.REFUSAL_SECONDS
    assert (await host.call_host(spec, op, arg, left_ms=1))["error"]["code"] in (code, "time.exhausted")


async def test_a_function_that_asks_in_a_loop_is_refused_a_limited_number_of_times(host: Hosting) -> None:
    wanted = calling("kv.get", {"binding": "NONE", "key": "a"}, times=1_000_000)
    spec = await host.serve(wanted, site="site_loop", wall_ms=1000)
    answered = 0
    answer = host.serving._answer

    async def count(spec: FunctionSpec, question: dict[str, Any]) -> dict[str, Any]:
        nonlocal answered
        answered += 1
        return await answer(spec, question)

    host.serving._answer = count
    try:
        await host.ask(spec)
    finally:
        host.serving._answer = answer
    assert 1 <= answered <= 1 + 1 / bindings.REFUSAL_SECONDS


async def test_values_of_the_state_count_as_traffic_of_the_site() -> None:
    async def answer(*_: object) -> dict[str, Any]:
        return {"ok": {"value": "x" * 250_000, "revision": 1}}

    async with hosting(Path(tempfile.mkdtemp(prefix="stead-fn-")), ask_state=answer) as host:
        spec = await host.serve(answering(), site="site_a", start=False, bindings=STORE)
        question, answered = {"binding": "STORE", "key": "a"}, 0
        while "ok" in (told := await host.call_host(spec, "kv.get", question)):
            answered += 1
            assert answered < bindings.STATE_BURST
        assert told["error"]["code"] == "state.rate_limited"
        assert answered * 250_000 >= bindings.BYTES_BURST
        other = await host.serve(answering(), site="site_b", environment="env_b", start=False, bindings=STORE)
        assert "ok" in await host.call_host(other, "kv.get", question)


async def test_large_messages_of_a_site_are_received_at_a_limited_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the rates of production, it would need many megabytes."""
    monkeypatch.setattr(body_room, "BYTES_PER_SECOND", 1_000_000)
    monkeypatch.setattr(body_room, "BYTES_BURST", 1_000_000)
    room = BodyRoom()
    times = {site: await _receive(room, site, count) for site, count in (("a", 6), ("b", 1))}
    assert times["a"] > 1.5
    assert times["a"] > 10 * times["b"]


async def _receive(room: BodyRoom, site: str, count: int) -> float:
    began = time.monotonic()
    for _ in range(count):
        async with room.hold(site, 500_000):
            pass
    return time.monotonic() - began


async def test_processes_that_are_starting_count(host: Hosting) -> None:
    """Otherwise a site would have as many processes as functions, if they start slowly. Four have all memory
    of their site."""
    specs = [
        await host.serve(STARTS_SLOWLY, site="site_starting", start=False, memory_mb=512) for _ in range(7)
    ]
    starting: list[int] = []
    probing = [asyncio.create_task(host.serving.probe(spec.version)) for spec in specs]
    while not all(task.done() for task in probing):
        starting.append(len(host.serving._process_room.starting))
        await asyncio.sleep(0.01)
    await asyncio.gather(*probing)
    assert max(starting) == 4


async def test_a_process_is_killed_also_when_the_first_process_is_busy(host: Hosting) -> None:
    """Otherwise it would run for ever, and not be counted."""
    spec = await host.serve(answering(), site="site_killed")
    (worker,) = host.serving._versions[spec.version].workers.values()
    processes = host.serving._processes
    control = processes._control
    busy, reader = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with busy, reader:
        busy.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                busy.send(b"{}")
        processes._control = busy
        processes.kill(worker)
        processes._control = control
    assert not worker.ended.is_set()
    async with time_limit(30):
        await worker.ended.wait()


def test_questions_are_spread_after_a_burst() -> None:
    pace = Pace(rate=128.0, burst=16)
    delays = [pace.take(100.0) for _ in range(80)]
    assert all(delay <= 0 for delay in delays[:16])
    assert delays == sorted(delays)
    assert delays[-1] == 64 / 128
    assert pace.take(100.5) == 1 / 128
    assert pace.take(200.0) < 0, "the burst is available again"


async def test_an_answer_that_comes_too_late_is_not_given_to_the_next_request() -> None:
    """The host may be busy, so that its answer arrives when the process has given up."""
    asked = 0

    async def answer(*_: object) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        number = asked
        if number == 1:
            time.sleep(0.8)  # noqa: ASYNC251 - the whole host is busy
        return {"ok": None, "body": f"answer {number}"}

    async with hosting(Path(tempfile.mkdtemp(prefix="stead-fn-")), ask_state=answer) as host:
        question = asking("kv.get", {"binding": "STORE", "key": "a"})
        spec = await host.serve(question, wall_ms=300, bindings=STORE)
        first = await host.ask(spec)
        assert first is None or first.status == 503
        for number in (2, 3):
            seen = await host.ask(spec)
            assert seen is not None
            assert (seen.status, seen.body) == (200, f"answer {number}")
