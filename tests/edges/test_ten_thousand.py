"""An edge with ten thousand sites: a change is met at once, and a restart forgets none of them."""

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

SITES, CHANGES, WARM_UP = 10_000, 300, 10
# The goals are a benchmark's; these tell only that nothing waits for a timer or looks at every site.
P50_MS, P99_MS = 50.0, 500.0
BACK_WITHIN = 30.0
VISITORS = 3


@pytest.fixture(scope="module")
async def many() -> AsyncIterator[ManySites]:
    async with many_sites(SITES) as made:
        yield made


async def test_a_change_among_ten_thousand_sites_is_met_within_milliseconds(
    many: ManySites, record_property: Callable[[str, object], None]
) -> None:
    for turn in range(WARM_UP):
        await many.change(SITES - 1, turn)
    half, most = percentiles(await measure(many, CHANGES))
    record_property("figure", f"edge: a change is met after {half:.1f} ms (p50), {most:.1f} ms (p99)")
    assert half < P50_MS
    assert most < P99_MS


async def restarted(stack: RunningStack) -> None:
    await stack.stop(Nginx)
    await stack.start(Nginx)


async def crashed(stack: RunningStack) -> None:
    """Whoever watches over it starts it again."""
    condition = stack.child(Nginx).status
    before = condition.process
    assert before is not None
    assert before.send_signal(signal.SIGKILL)

    async def serves() -> bool:
        return condition.state is ChildState.READY and condition.process != before

    await until(serves, "nginx serves again")


@pytest.mark.parametrize("way", [restarted, crashed])
async def test_after_a_restart_all_answer_within_seconds_and_none_is_said_to_be_unknown(
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
        "figure", f"edge: {SITES} sites answer again {took:.1f} s after being {way.__name__}, {dict(answers)}"
    )
    assert took < BACK_WITHIN


def visit_all(address: str, pages: dict[str, bytes]) -> Counter[str]:
    """Each until it is answered rightly."""
    visitor, answers, ends = Visitor(address), Counter[str](), time.monotonic() + 2 * BACK_WITHIN
    for host, page in pages.items():
        while (said := visit(visitor, host, page)) != "right":
            answers[said] += 1
            assert said in ("starting", "no connection"), f"{host}: {said}"
            assert time.monotonic() < ends, f"{host} is not back"
            time.sleep(0.01)
        answers["right"] += 1
    visitor.close()
    return answers


def visit_until(end: Event, address: str, pages: dict[str, bytes], visitors: int, first: int) -> Counter[str]:
    """Now this one and now that one, all the time."""
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
