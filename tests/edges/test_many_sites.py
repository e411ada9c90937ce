"""One edge with the records of ten thousand sites, which share ten small releases.

A change does not wait for a timer, and after a restart every host is served again. Nothing here shows how
many sites an edge can hold, or how it behaves under load; `make bench` measures the latency.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from threading import Event

import pytest

from bench.edge_change import ManySites, many_sites, measure, percentiles
from bench.visitor import Disconnected, Visitor
from stead.dev.child_process import ChildState
from stead.dev.engines.nginx import Nginx
from stead.dev.running_stack import RunningStack
from tests.faults.jobs.programs import until
from tests.patience import Patience, slowdown

SITES, CHANGES, WARM_UP = 10_000, 300, 10
P50_MS, P99_MS = 50.0, 500.0
"""Enough to see that nothing waits for a timer or reads the records of every site. The goals for the latency
are those of the benchmark."""
BACK_WITHIN = 30.0
VISITORS = 3


@pytest.fixture(scope="module")
async def many() -> AsyncIterator[ManySites]:
    async with many_sites(SITES) as made:
        yield made


async def test_a_change_among_ten_thousand_sites_does_not_wait_for_a_timer(
    many: ManySites, record_property: Callable[[str, object], None]
) -> None:
    for turn in range(WARM_UP):
        await many.change(SITES - 1, turn)
    half, most = percentiles(await measure(many, CHANGES))
    record_property("figure", f"edge: a change is visible after {half:.1f} ms (p50), {most:.1f} ms (p99)")
    assert half < P50_MS
    assert most < P99_MS


async def restart(stack: RunningStack) -> None:
    await stack.stop(Nginx)
    await stack.start(Nginx)


async def crash(stack: RunningStack) -> None:
    """Kill nginx, and wait until its supervisor has started it again."""
    condition = stack.child(Nginx).status
    before = condition.process
    assert before is not None
    assert before.send_signal(signal.SIGKILL)

    async def serves() -> bool:
        return condition.state is ChildState.READY and condition.process != before

    await until(serves, "nginx serves again")


@pytest.mark.parametrize("way", [restart, crash])
async def test_after_a_restart_every_host_is_served_again_and_none_is_reported_as_unknown(
    many: ManySites,
    way: Callable[[RunningStack], Awaitable[None]],
    record_property: Callable[[str, object], None],
) -> None:
    pages, end = many.pages, Event()
    visiting = [
        asyncio.create_task(asyncio.to_thread(visit_until, end, many.address, pages, VISITORS, first))
        for first in range(VISITORS)
    ]
    try:
        await way(many.stack)
        began = time.monotonic()
        answers = await asyncio.to_thread(visit_all, many.address, pages)
        took = time.monotonic() - began
    finally:
        end.set()
        others = await asyncio.gather(*visiting)
    answers += sum(others, Counter[str]())
    assert set(answers) <= {"right", "starting", "no connection"}
    record_property(
        "figure", f"edge: {SITES} sites are served again {took:.1f} s after a {way.__name__}, {dict(answers)}"
    )
    assert took < BACK_WITHIN * slowdown()


def visit_all(address: str, pages: dict[str, bytes]) -> Counter[str]:
    """Request the page of every host until it is right. Count the answers."""
    visitor, answers, patience = Visitor(address), Counter[str](), Patience(2 * BACK_WITHIN)
    for host, page in pages.items():
        while (said := visit(visitor, host, page)) != "right":
            answers[said] += 1
            assert said in ("starting", "no connection"), f"{host}: {said}"
            assert not patience.is_over, f"{host} is not served in time"
            time.sleep(0.01)
        answers["right"] += 1
    visitor.close()
    return answers


def visit_until(end: Event, address: str, pages: dict[str, bytes], visitors: int, first: int) -> Counter[str]:
    """Request pages of different hosts in turn until the end. Count the answers."""
    visitor, answers, hosts = Visitor(address), Counter[str](), list(pages)[first::visitors]
    turn = 0
    while not end.is_set():
        host = hosts[turn * 7 % len(hosts)]
        answers[visit(visitor, host, pages[host])] += 1
        turn += 1
        time.sleep(0.002)
    visitor.close()
    return answers


def visit(visitor: Visitor, host: str, page: bytes) -> str:
    try:
        answer = visitor.get(host)
    except Disconnected:
        return "no connection"
    if answer.status == 200:
        return "right" if answer.body == page else "wrong"
    return answer.reason if answer.status == 503 else f"{answer.status} {answer.reason}"
