"""Failed work is tried again a few times, refused work is not, and concurrency is limited."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.driver_set import DriverSet
from stead.node.execution import ATTEMPTS, MAX_RUNNING, Execution
from stead.node.journal import Journal, StepEntry
from stead.node.processes import StreamName
from stead.protocol.commands import Command
from stead.protocol.work.builds import ArchiveSource, Build, BuildResult
from stead.protocol.work.functions import EnsureFunction
from stead.protocol.work.hosting import EnsureEnvironment, RemoveRoute
from stead.protocol.work.kinds import Work as AnyWork
from stead.protocol.work.releases import EnsureRelease
from stead.shared.wording import MAX_REASON
from tests.node.harness import until

Work = Callable[[int], Awaitable[None]]


@dataclass
class CapturedOutput:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, stream: StreamName, data: bytes) -> None:
        raise NotImplementedError(stream, data)

    async def __aenter__(self) -> "CapturedOutput":
        return self

    async def __aexit__(self, *_: object) -> None:
        return


class ScriptedDriver(Driver):
    """Does what the test says, and counts its calls."""

    def __init__(self, work: Work) -> None:
        self._work, self.calls = work, 0

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(RemoveRoute, self.remove_route),
            Handler(Build, self.build, ("static",)),
            Handler(EnsureEnvironment, self.ensure_environment, ("wasm",)),
        ]

    async def build(self, _: Assignment, __: Build) -> BuildResult:
        await asyncio.Event().wait()
        raise AssertionError("a build waits for ever here")

    async def ensure_environment(self, _: Assignment, __: EnsureEnvironment) -> None:
        await asyncio.Event().wait()

    async def remove_route(self, _: Assignment, __: RemoveRoute) -> None:
        self.calls += 1
        await self._work(self.calls)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite", "here")
    yield journal
    journal.close()


def command(number: int = 0, seconds: float = 30.0) -> Command:
    work = RemoveRoute()
    return Command("here", f"job_{number}", "step", 1, "site", "env", "live", work, seconds=seconds)


@dataclass
class ExecutionHarness:
    journal: Journal
    driver: ScriptedDriver
    execution: Execution
    said: CapturedOutput

    async def ending(self, order: Command) -> StepEntry:
        self.journal.record(order)
        self.execution.start(order)
        return await until(lambda: self._ended(order))

    async def _ended(self, order: Command) -> StepEntry | None:
        found = self.journal.entry(order.job, order.step)
        return None if found is None or found.state == "running" else found


def make_harness(journal: Journal, work: Work) -> ExecutionHarness:
    driver, said = ScriptedDriver(work), CapturedOutput()
    execution = Execution(journal, {"live": DriverSet([driver])}, lambda _: said, first_pause=0.01)
    return ExecutionHarness(journal, driver, execution, said)


async def test_work_that_fails_once_is_tried_again(journal: Journal) -> None:
    async def work(time: int) -> None:
        if time == 1:
            raise ConnectionError("the password is hunter22")

    it = make_harness(journal, work)
    assert (await it.ending(command())).state == "done"
    assert it.driver.calls == 2
    assert it.said.lines == ["failed (ConnectionError); trying again in 0.01 s"]


async def test_work_that_always_fails_is_refused_without_quoting_the_error(journal: Journal) -> None:
    async def work(_: int) -> None:
        raise RuntimeError("the password is hunter22")

    it = make_harness(journal, work)
    entry = await it.ending(command())
    assert (entry.state, entry.code, it.driver.calls) == ("refused", "internal", ATTEMPTS)
    assert entry.reason == f"failed {ATTEMPTS} times, the last time with RuntimeError"
    assert "hunter22" not in "".join(it.said.lines)


async def test_a_refusal_is_final(journal: Journal) -> None:
    async def work(_: int) -> None:
        raise Refusal("route.taken", "it is another's")

    it = make_harness(journal, work)
    entry = await it.ending(command())
    assert (entry.state, entry.code, entry.reason, it.driver.calls) == (
        "refused",
        "route.taken",
        "it is another's",
        1,
    )


async def test_the_reason_of_a_refusal_is_short_and_can_be_stored(journal: Journal) -> None:
    """It may be the text of a program of a customer."""

    async def work(_: int) -> None:
        raise Refusal("route.taken", "a\0\ud800\n" + "b" * 700_000)

    it = make_harness(journal, work)
    entry = await it.ending(command())
    assert entry.reason is not None
    assert entry.reason.startswith("a\ufffd\ufffd\nbbb")
    assert len(entry.reason) == MAX_REASON
    assert all(len(line) < MAX_REASON + 20 for line in it.said.lines)


async def test_a_timeout_of_an_engine_leads_to_another_attempt_within_the_time_of_the_command(
    journal: Journal,
) -> None:
    """A timeout of an engine is not the timeout of the command."""

    async def work(time: int) -> None:
        if time < 3:
            raise TimeoutError

    it = make_harness(journal, work)
    assert (await it.ending(command())).state == "done"

    async def hang(_: int) -> None:
        await asyncio.sleep(60)

    it = make_harness(journal, hang)
    entry = await it.ending(command(1, seconds=0.2))
    assert (entry.state, entry.code, entry.reason) == ("refused", "job.timeout", "not done within 0.2 s")


async def test_concurrent_commands_are_limited_and_a_waiting_one_can_be_cancelled(
    journal: Journal,
) -> None:
    going, most, gate = 0, 0, asyncio.Event()

    async def work(_: int) -> None:
        nonlocal going, most
        going += 1
        most = max(most, going)
        await gate.wait()
        going -= 1

    it = make_harness(journal, work)
    orders = [command(number) for number in range(3 * MAX_RUNNING)]
    endings = [asyncio.create_task(it.ending(order)) for order in orders]
    await asyncio.sleep(0.1)
    it.execution.cancel(orders[-1].job, "step")
    gate.set()
    await asyncio.wait(endings[:-1])
    assert (most, it.driver.calls) == (MAX_RUNNING, len(orders) - 1)
    endings[-1].cancel()


async def test_a_journal_that_cannot_be_written_stops_the_node(journal: Journal) -> None:
    async def work(_: int) -> None:
        journal.close()

    it = make_harness(journal, work)
    journal.record(command())
    it.execution.start(command())
    with pytest.raises(Exception, match="closed"):
        await asyncio.wait_for(it.execution.broken, 5)


FUNCTION = EnsureFunction(
    "fn_" + "0" * 26, "fnv_" + "0" * 26, EnsureRelease("wasm", "sha256:" + "0" * 64, b"", b"", b"", (), ())
)


@pytest.mark.parametrize(
    "waiting",
    [
        Build("static", ArchiveSource("https://example.com/a.zip"), ""),
        EnsureEnvironment("wasm", functions=(FUNCTION,)),
    ],
)
async def test_work_that_waits_elsewhere_does_not_keep_other_commands_from_starting(
    waiting: AnyWork, journal: Journal
) -> None:
    """A node builds and compiles few at a time. One tenant can have more waiting than the node has slots."""

    async def work(_: int) -> None:
        return

    it = make_harness(journal, work)
    for number in range(2 * MAX_RUNNING):
        order = Command("here", f"job_b{number}", "step", 1, "site", "env", "live", waiting)
        journal.record(order)
        it.execution.start(order)
    await asyncio.sleep(0)
    assert (await it.ending(command())).state == "done"
    assert len(it.execution.running) == 2 * MAX_RUNNING
    await it.execution.stop()
