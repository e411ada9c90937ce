"""A repeated command is executed once, and entries survive a crash."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from stead.node.journal import Journal, NextAction, StepEnd
from stead.protocol.commands import Cancel, Command, encode
from stead.protocol.work.builds import BuildResult
from stead.protocol.work.hosting import RemoveRoute

DAY = 86_400.0
COMMAND = Command("here", "job_1", "route", 2, "site_1", "env_1", "simulator", RemoveRoute())
BUILT = BuildResult("sha256:1", 2, "sha256:3", 4, 5, commit="c0ffee")
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
    """Reopen the journal as after a crash: the first connection is never closed."""
    return Journal(tmp_path / "journal.sqlite", "here", now=ticking)


def reported(journal: Journal) -> list[tuple[int, str]]:
    """Remove and return the pending reports."""
    found = journal.pending_reports(100)
    for each in found:
        journal.remove_report(each)
    return [(it.result.epoch, it.result.outcome) for it in found]


def test_a_step_is_executed_once_and_its_result_is_reported_for_every_attempt(journal: Journal) -> None:
    assert journal.record(COMMAND) is NextAction.ACT
    assert journal.record(COMMAND) is NextAction.NOTHING
    assert reported(journal) == []
    journal.finish("job_1", "route", StepEnd("done"))
    assert reported(journal) == [(2, "done")]
    assert journal.record(COMMAND) is NextAction.NOTHING
    assert reported(journal) == [(2, "done")]
    assert journal.record(asked(COMMAND, 5)) is NextAction.NOTHING
    assert reported(journal) == [(5, "done")]
    assert journal.record(asked(COMMAND, 4)) is NextAction.NOTHING
    assert reported(journal) == [(4, "stale")]


def test_the_result_is_reported_for_the_latest_attempt(journal: Journal) -> None:
    journal.record(COMMAND)
    journal.record(asked(COMMAND, 3))
    journal.finish("job_1", "route", StepEnd("refused", "route.taken", "it is another's"))
    (report,) = journal.pending_reports(10)
    assert (report.result.epoch, report.result.code, report.result.reason) == (
        3,
        "route.taken",
        "it is another's",
    )


def test_a_result_is_pending_once_until_it_is_sent(journal: Journal) -> None:
    journal.record(COMMAND)
    journal.finish("job_1", "route", StepEnd("done"))
    for _ in range(3):
        journal.record(COMMAND)
    assert len(journal.pending_reports(10)) == 1


def test_running_steps_and_pending_reports_survive_a_crash(
    journal: Journal, tmp_path: Path, ticking: Clock
) -> None:
    other = msgspec.structs.replace(COMMAND, step="other")
    journal.record(COMMAND)
    journal.record(other)
    journal.record(asked(COMMAND, 3))
    journal.finish("job_1", "other", StepEnd("done"))
    again = reborn(journal, tmp_path, ticking)
    assert [(it.job, it.step, it.work) for it in again.resume()] == [("job_1", "route", RemoveRoute())]
    assert [report.result.step for report in again.pending_reports(10)] == ["other"]
    entry = again.entry("job_1", "route")
    assert entry is not None
    assert (entry.epoch, entry.carried_out) == (3, 2)
    assert again.token == journal.token
    again.finish("job_1", "route", StepEnd("done"))
    assert reported(again) == [(2, "done"), (3, "done")]
    again.close()


def test_a_cancellation_survives_a_crash(journal: Journal, tmp_path: Path, ticking: Clock) -> None:
    journal.record(COMMAND)
    assert journal.record(CANCEL) is NextAction.ACT
    assert journal.record(CANCEL) is NextAction.NOTHING
    assert reported(journal) == []
    again = reborn(journal, tmp_path, ticking)
    assert again.resume() == []
    assert reported(again) == [(2, "cancelled")]
    again.close()


def test_a_cancellation_ends_its_attempt_and_allows_a_later_one(journal: Journal) -> None:
    assert journal.record(CANCEL) is NextAction.NOTHING
    assert reported(journal) == [(2, "cancelled")]
    assert journal.record(COMMAND) is NextAction.NOTHING
    assert journal.record(asked(COMMAND, 1)) is NextAction.NOTHING
    assert reported(journal) == [(2, "cancelled"), (1, "stale")]
    assert journal.record(asked(COMMAND, 3)) is NextAction.ACT
    journal.finish("job_1", "route", StepEnd("done"))
    assert reported(journal) == [(3, "done")]


def test_a_command_that_ended_before_its_cancellation_reports_its_own_result(journal: Journal) -> None:
    journal.record(COMMAND)
    journal.record(CANCEL)
    journal.finish("job_1", "route", StepEnd("done"))
    assert reported(journal) == [(2, "done")]
    assert journal.record(CANCEL) is NextAction.NOTHING
    assert reported(journal) == [(2, "done")]


def test_steps_that_ended_a_month_ago_are_removed_and_running_ones_are_kept(
    journal: Journal, ticking: Clock
) -> None:
    journal.record(COMMAND)
    journal.record(msgspec.structs.replace(COMMAND, step="old"))
    journal.finish("job_1", "old", StepEnd("done"))
    ticking.now += 29 * DAY
    assert journal.remove_old_steps() == 0
    ticking.now += 2 * DAY
    assert journal.remove_old_steps() == 1
    assert journal.entry("job_1", "route") is not None
    assert journal.entry("job_1", "old") is None


def test_a_failed_change_leaves_no_trace(journal: Journal) -> None:
    journal.record(COMMAND)
    with pytest.raises(LookupError):
        journal.finish("job_1", "never asked", StepEnd("done"))
    assert reported(journal) == []
    assert journal.record(CANCEL) is NextAction.ACT


def test_only_the_owner_can_read_the_database(journal: Journal, tmp_path: Path) -> None:
    journal.record(COMMAND)
    modes = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0}


def test_a_typed_result_survives_a_restart(journal: Journal, tmp_path: Path, ticking: Clock) -> None:
    journal.record(COMMAND)
    journal.finish("job_1", "route", StepEnd("done", value=BUILT))
    again = reborn(journal, tmp_path, ticking)
    entry = again.entry("job_1", "route")
    assert entry is not None
    assert entry.value == BUILT
    assert [report.result.value for report in again.pending_reports(10)] == [BUILT]
    again.close()


def test_a_journal_with_untyped_results_is_brought_up_to_date(
    journal: Journal, tmp_path: Path, ticking: Clock
) -> None:
    journal.record(COMMAND)
    journal.finish("job_1", "route", StepEnd("done", value=BUILT))
    journal.record(msgspec.structs.replace(COMMAND, step="other"))
    journal.close()
    facts = msgspec.structs.asdict(BUILT)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as database:
        (result,) = database.execute("select result from reports").fetchone()
        untyped = msgspec.msgpack.decode(result)
        untyped["facts"] = facts
        del untyped["value"]
        database.execute("update reports set result = ?", (msgspec.msgpack.encode(untyped),))
        old = encode(COMMAND).replace(encode("simulator"), encode("sandbox"))
        database.execute("update steps set command = ? where step = 'other'", (old,))
        database.execute("alter table steps rename column value to facts")
        database.execute("update steps set facts = ? where step = 'route'", (msgspec.msgpack.encode(facts),))
        database.execute("pragma user_version = 2")
        database.commit()
    again = reborn(journal, tmp_path, ticking)
    entry = again.entry("job_1", "route")
    assert entry is not None
    assert entry.value == BUILT
    assert [report.result.value for report in again.pending_reports(10)] == [BUILT]
    assert [command.driver for command in again.resume()] == ["simulator"]
    again.close()
