"""What fails is tried again a few times; what is refused is not; there is room for only so many at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stead.node.drivers.ports import Assignment, Drivers, Refusal
from stead.node.execution import AT_ONCE, TRIES, Execution
from stead.node.journal import Entry, Journal
from stead.node.processes import Stream
from stead.protocol.commands import Command, RemoveRoute
from tests.node.stage import until

Work = Callable[[int], Awaitable[None]]


@dataclass
class Said:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, stream: Stream, data: bytes) -> None:
        raise NotImplementedError(stream, data)

    async def __aenter__(self) -> "Said":
        return self

    async def __aexit__(self, *_: object) -> None:
        return


class OddEdge:
    """Does whatever the test says, and knows how often it was asked."""

    def __init__(self, work: Work) -> None:
        self._work, self.asked = work, 0

    async def remove_route(self, _: Assignment) -> None:
        self.asked += 1
        await self._work(self.asked)

    async def ensure_route(self, task: Assignment, hosts: Sequence[str]) -> None:
        raise NotImplementedError(task, hosts)

    async def probe(self, task: Assignment, host: str, path: str, status: int | None) -> None:
        raise NotImplementedError(task, host, path, status)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite", "here")
    yield journal
    journal.close()


def command(number: int = 0, seconds: float = 30.0) -> Command:
    work = RemoveRoute()
    return Command("here", f"job_{number}", "step", 1, "site", "env", "live", work, seconds=seconds)


@dataclass
class Bench:
    journal: Journal
    edge: OddEdge
    execution: Execution
    said: Said

    async def ending(self, order: Command) -> Entry:
        self.journal.take(order)
        self.execution.start(order)
        return await until(lambda: self._ended(order))

    async def _ended(self, order: Command) -> Entry | None:
        found = self.journal.entry(order.job, order.step)
        return None if found is None or found.state == "running" else found


def bench(journal: Journal, work: Work) -> Bench:
    edge, said = OddEdge(work), Said()
    execution = Execution(
        journal, {"live": Drivers({}, edge, simulated_routes=edge)}, lambda _: said, first_pause=0.01
    )
    return Bench(journal, edge, execution, said)


async def test_what_fails_once_is_tried_again_and_done(journal: Journal) -> None:
    async def work(time: int) -> None:
        if time == 1:
            raise ConnectionError("the password is hunter22")

    it = bench(journal, work)
    assert (await it.ending(command())).state == "done"
    assert it.edge.asked == 2
    assert it.said.lines == ["failed (ConnectionError); trying again in 0.01 s"]


async def test_what_always_fails_is_refused_as_internal_without_quoting_the_error(journal: Journal) -> None:
    async def work(_: int) -> None:
        raise RuntimeError("the password is hunter22")

    it = bench(journal, work)
    entry = await it.ending(command())
    assert (entry.state, entry.code, it.edge.asked) == ("refused", "internal", TRIES)
    assert entry.reason == f"failed {TRIES} times, the last time with RuntimeError"
    assert "hunter22" not in "".join(it.said.lines)


async def test_a_refusal_is_final(journal: Journal) -> None:
    async def work(_: int) -> None:
        raise Refusal("route.taken", "it is another's")

    it = bench(journal, work)
    entry = await it.ending(command())
    assert (entry.state, entry.code, entry.reason, it.edge.asked) == (
        "refused",
        "route.taken",
        "it is another's",
        1,
    )


async def test_an_engine_that_is_late_is_tried_again_within_the_time_of_the_command(journal: Journal) -> None:
    """An engine's own timeout is not the command's."""

    async def work(time: int) -> None:
        if time < 3:
            raise TimeoutError

    it = bench(journal, work)
    assert (await it.ending(command())).state == "done"

    async def hang(_: int) -> None:
        await asyncio.sleep(60)

    it = bench(journal, hang)
    entry = await it.ending(command(1, seconds=0.2))
    assert (entry.state, entry.code, entry.reason) == ("refused", "job.timeout", "not done within 0.2 s")


async def test_only_so_many_run_at_once_and_a_waiting_one_can_be_cancelled(
    journal: Journal,
) -> None:
    going, most, gate = 0, 0, asyncio.Event()

    async def work(_: int) -> None:
        nonlocal going, most
        going += 1
        most = max(most, going)
        await gate.wait()
        going -= 1

    it = bench(journal, work)
    orders = [command(number) for number in range(3 * AT_ONCE)]
    endings = [asyncio.create_task(it.ending(order)) for order in orders]
    await asyncio.sleep(0.1)
    it.execution.cancel(orders[-1].job, "step")
    gate.set()
    await asyncio.wait(endings[:-1])
    assert (most, it.edge.asked) == (AT_ONCE, len(orders) - 1)
    endings[-1].cancel()


async def test_a_journal_that_cannot_be_written_stops_the_node(journal: Journal) -> None:
    async def work(_: int) -> None:
        journal.close()

    it = bench(journal, work)
    journal.take(command())
    it.execution.start(command())
    with pytest.raises(Exception, match="closed"):
        await asyncio.wait_for(it.execution.broken, 5)
