"""What is asked twice is done once, and what was noted is still noted after a crash."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stead.node.journal import Answer, Ending, Journal
from stead.protocol.commands import Cancel, Command, RemoveRoute

DAY = 86_400.0
COMMAND = Command("here", "job_1", "route", 2, "site_1", "env_1", "sandbox", RemoveRoute())
CANCEL = Cancel("here", "job_1", "route", 2)


def asked(order, epoch: int):
    return msgspec.structs.replace(order, epoch=epoch)


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticking() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, ticking: Clock) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite", "here", now=ticking)
    yield journal
    journal.close()


def reborn(journal: Journal, tmp_path: Path, ticking: Clock) -> Journal:
    """As after a crash: opened by another connection, the first one never closed."""
    return Journal(tmp_path / "journal.sqlite", "here", now=ticking)


def reported(journal: Journal) -> list[tuple[int, str]]:
    """Takes what is waiting to be reported."""
    found = journal.unreported(100)
    for each in found:
        journal.sent(each)
    return [(it.result.epoch, it.result.outcome) for it in found]


def test_a_step_is_acted_on_once_and_its_result_is_there_for_whoever_asks(journal: Journal) -> None:
    assert journal.take(COMMAND) is Answer.ACT
    assert journal.take(COMMAND) is Answer.NOTHING
    assert reported(journal) == []
    journal.finish("job_1", "route", Ending("done"))
    assert reported(journal) == [(2, "done")]
    assert journal.take(COMMAND) is Answer.NOTHING
    assert reported(journal) == [(2, "done")]
    assert journal.take(asked(COMMAND, 5)) is Answer.NOTHING
    assert reported(journal) == [(5, "done")]
    assert journal.take(asked(COMMAND, 4)) is Answer.NOTHING
    assert reported(journal) == [(4, "stale")]


def test_the_newest_asker_while_it_runs_gets_the_result(journal: Journal) -> None:
    journal.take(COMMAND)
    journal.take(asked(COMMAND, 3))
    journal.finish("job_1", "route", Ending("refused", "route.taken", "it is another's"))
    (report,) = journal.unreported(10)
    assert (report.result.epoch, report.result.code, report.result.reason) == (
        3,
        "route.taken",
        "it is another's",
    )


def test_a_result_is_waiting_until_it_is_sent_and_only_once(journal: Journal) -> None:
    journal.take(COMMAND)
    journal.finish("job_1", "route", Ending("done"))
    for _ in range(3):
        journal.take(COMMAND)
    assert len(journal.unreported(10)) == 1


def test_a_crash_keeps_what_runs_and_what_is_not_reported(
    journal: Journal, tmp_path: Path, ticking: Clock
) -> None:
    other = msgspec.structs.replace(COMMAND, step="other")
    journal.take(COMMAND)
    journal.take(other)
    journal.take(asked(COMMAND, 3))
    journal.finish("job_1", "other", Ending("done"))
    again = reborn(journal, tmp_path, ticking)
    assert [(it.job, it.step, it.work) for it in again.resume()] == [("job_1", "route", RemoveRoute())]
    assert [report.result.step for report in again.unreported(10)] == ["other"]
    entry = again.entry("job_1", "route")
    assert entry is not None
    assert (entry.epoch, entry.carried_out) == (3, 2)
    assert again.token == journal.token
    again.finish("job_1", "route", Ending("done"))
    assert reported(again) == [(2, "done"), (3, "done")]
    again.close()


def test_a_cancel_is_remembered_through_a_crash(journal: Journal, tmp_path: Path, ticking: Clock) -> None:
    journal.take(COMMAND)
    assert journal.take(CANCEL) is Answer.ACT
    assert journal.take(CANCEL) is Answer.NOTHING
    assert reported(journal) == []
    again = reborn(journal, tmp_path, ticking)
    assert again.resume() == []
    assert reported(again) == [(2, "cancelled")]
    again.close()


def test_a_cancel_closes_the_door_to_its_asking_and_opens_it_to_a_newer_one(journal: Journal) -> None:
    assert journal.take(CANCEL) is Answer.NOTHING
    assert reported(journal) == [(2, "cancelled")]
    assert journal.take(COMMAND) is Answer.NOTHING
    assert journal.take(asked(COMMAND, 1)) is Answer.NOTHING
    assert reported(journal) == [(2, "cancelled"), (1, "stale")]
    assert journal.take(asked(COMMAND, 3)) is Answer.ACT
    journal.finish("job_1", "route", Ending("done"))
    assert reported(journal) == [(3, "done")]


def test_a_command_that_ended_just_before_its_cancel_was_noted_says_how(journal: Journal) -> None:
    journal.take(COMMAND)
    journal.take(CANCEL)
    journal.finish("job_1", "route", Ending("done"))
    assert reported(journal) == [(2, "done")]
    assert journal.take(CANCEL) is Answer.NOTHING
    assert reported(journal) == [(2, "done")]


def test_what_ended_a_month_ago_is_forgotten_and_what_runs_is_not(journal: Journal, ticking: Clock) -> None:
    journal.take(COMMAND)
    journal.take(msgspec.structs.replace(COMMAND, step="old"))
    journal.finish("job_1", "old", Ending("done"))
    ticking.now += 29 * DAY
    assert journal.forget_old() == 0
    ticking.now += 2 * DAY
    assert journal.forget_old() == 1
    assert journal.entry("job_1", "route") is not None
    assert journal.entry("job_1", "old") is None


def test_a_half_made_change_is_not_there(journal: Journal) -> None:
    journal.take(COMMAND)
    with pytest.raises(LookupError):
        journal.finish("job_1", "never asked", Ending("done"))
    assert reported(journal) == []
    assert journal.take(CANCEL) is Answer.ACT


def test_only_its_owner_can_read_it(journal: Journal, tmp_path: Path) -> None:
    journal.take(COMMAND)
    modes = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0}
