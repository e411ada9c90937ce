"""Tasks that raise or end are started again, counted, and shown as failing until they recover."""

import asyncio

import pytest

from stead.shared import supervision
from stead.shared.supervision import Supervisor
from tests.patience import time_limit

BOUND = 10.0


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped pauses are half a second to half a minute."""
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(supervision, "LONGEST_PAUSE", 0.05)


class Task:
    """Fails so many times in one way or another, and then runs."""

    def __init__(self, failures: int, error: Exception | None) -> None:
        self._failures, self._error = failures, error
        self.starts = 0
        self.runs = asyncio.Event()

    async def run(self) -> None:
        self.starts += 1
        if self.starts <= self._failures:
            if self._error is not None:
                raise self._error
            return
        self.runs.set()
        await asyncio.Event().wait()

    async def run_once(self) -> None:
        self.starts += 1
        if self.starts <= self._failures:
            raise RuntimeError
        self.runs.set()


@pytest.mark.parametrize("error", [RuntimeError("secret"), ExceptionGroup("two", [ValueError()]), None])
async def test_a_task_that_raises_or_ends_is_started_again(
    error: Exception | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    supervisor, task = Supervisor(counted.append), Task(3, error)
    supervisor.keep_running("some.task", task.run)
    async with time_limit(BOUND):
        await task.runs.wait()
    assert (task.starts, counted) == (4, ["some.task"] * 3)
    assert supervisor.statuses["some.task"].failures == 3
    assert supervisor.failing == {"some.task": type(error).__name__ if error else "TaskEnded"}
    monkeypatch.setattr(supervision, "STABLE_SECONDS", 0.0)
    await asyncio.sleep(0.01)
    assert supervisor.failing == {}
    await supervisor.stop()
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err


async def test_a_preparation_is_repeated_until_it_succeeds() -> None:
    supervisor, task = Supervisor(), Task(2, None)
    supervisor.run_until_done("some.preparation", task.run_once)
    async with time_limit(BOUND):
        await task.runs.wait()
    await asyncio.sleep(0.1)
    assert (task.starts, supervisor.failing) == (3, {})
    await supervisor.stop()


async def test_a_periodic_task_fails_until_it_succeeds_again() -> None:
    supervisor, task = Supervisor(), Task(2, None)
    supervisor.repeat("some.period", 0.01, task.run_once)
    seen = set()
    async with time_limit(BOUND):
        while not task.runs.is_set():
            seen.add(supervisor.failing.get("some.period"))
            await asyncio.sleep(0.001)
    assert "RuntimeError" in seen
    await asyncio.sleep(0.05)
    assert supervisor.failing == {}
    assert supervisor.statuses["some.period"].failures == 2
    await supervisor.stop()


async def test_a_stopped_supervisor_starts_nothing_again() -> None:
    supervisor, task = Supervisor(), Task(1_000_000, RuntimeError())
    supervisor.keep_running("some.task", task.run)
    await asyncio.sleep(0.05)
    await supervisor.stop()
    starts = task.starts
    await asyncio.sleep(0.1)
    assert task.starts == starts > 0
