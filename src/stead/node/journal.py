"""The commands that a node received and how they ended. The journal makes commands idempotent: a command that
arrives twice is executed once.

There is one row per step. A change and the result to report for it commit together, so a result that could
not be sent is sent after a restart. Writes block the event loop: they take a few milliseconds, and nothing
may happen between a decision and its record.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

import msgspec

from stead.node import journal_schema
from stead.node.outdated import explain_outdated
from stead.node.sqlite import transaction
from stead.protocol.commands import (
    OUTDATED,
    Cancel,
    Command,
    Order,
    OrderHead,
    Outcome,
    Result,
    encode,
    read_result,
)
from stead.protocol.work.kinds import WorkResult

KEEP_DAYS = 30
_DAY = 86_400.0

_command = msgspec.msgpack.Decoder(Command)
_value = msgspec.msgpack.Decoder(WorkResult | None)


class NextAction(StrEnum):
    """What the agent has to do about an order that was recorded."""

    ACT = "act"
    NOTHING = "nothing"
    """The step is already running, or its result is waiting to be reported."""


StepState = Literal["running", "cancelling", "done", "refused", "cancelled"]


@dataclass(frozen=True)
class StepEntry:
    epoch: int
    state: StepState
    code: str | None
    reason: str | None
    value: WorkResult | None
    carried_out: int
    """How often the execution was started."""


@dataclass(frozen=True)
class StepEnd:
    """How a step ended."""

    outcome: Outcome
    code: str | None = None
    reason: str | None = None
    value: WorkResult | None = None


@dataclass(frozen=True)
class PendingReport:
    id: str
    result: Result


class Journal:
    def __init__(self, path: Path, node: str, *, now: Callable[[], float] = time.time) -> None:
        self._node, self._now = node, now
        self.on_report: Callable[[], None] = lambda: None
        """Called when there is a result to report."""
        self._database = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        journal_schema.prepare(self._database)

    def close(self) -> None:
        self._database.close()

    @property
    def token(self) -> str:
        """Marks the agent's processes, so that it recognises those that it started before a restart."""
        (token,) = self._database.execute("select token from identity").fetchone()
        return str(token)

    def record(self, order: Order) -> NextAction:
        with transaction(self._database):
            found = self.entry(order.job, order.step)
            if found is not None and found.epoch > order.epoch:
                self._report(order.job, order.step, order.epoch, StepEnd("stale"))
                return NextAction.NOTHING
            if isinstance(order, Cancel):
                return self._record_cancel(order, found)
            return self._record_command(order, found)

    def refuse(self, order: OrderHead) -> None:
        """Record an order that this version does not understand as refused. A step that is known already
        keeps its state: the order is another attempt at it."""
        with transaction(self._database):
            end = self._refusal(order.subject)
            found = self.entry(order.job, order.step)
            if found is not None and found.epoch > order.epoch:
                self._report(order.job, order.step, order.epoch, StepEnd("stale"))
            elif found is None or (found.state == "cancelled" and order.epoch > found.epoch):
                self._database.execute(
                    "insert into steps (job, step, epoch, state, code, reason, taken_at, ended_at)"
                    " values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do update set epoch = excluded.epoch,"
                    " state = excluded.state, code = excluded.code, reason = excluded.reason,"
                    " ended_at = excluded.ended_at",
                    (
                        *(order.job, order.step, order.epoch),
                        *(end.outcome, end.code, end.reason, self._now(), self._now()),
                    ),
                )
                self._report(order.job, order.step, order.epoch, end)
            else:
                self._record_repetition(order, found)

    def _record_command(self, order: Command, found: StepEntry | None) -> NextAction:
        # A cancellation ends an attempt, not the step: a later attempt than the cancelled one is executed.
        if found is None or (found.state == "cancelled" and order.epoch > found.epoch):
            self._database.execute(
                "insert into steps (job, step, epoch, command, state, carried_out, taken_at)"
                " values (?, ?, ?, ?, 'running', 1, ?) on conflict do update set epoch = excluded.epoch,"
                " command = excluded.command, state = 'running', carried_out = carried_out + 1,"
                " taken_at = excluded.taken_at, ended_at = null",
                (order.job, order.step, order.epoch, encode(order), self._now()),
            )
            return NextAction.ACT
        return self._record_repetition(order, found)

    def _record_cancel(self, order: Cancel, found: StepEntry | None) -> NextAction:
        if found is None:
            # The command may still arrive; this entry keeps it from being executed.
            self._database.execute(
                "insert into steps (job, step, epoch, state, taken_at, ended_at)"
                " values (?, ?, ?, 'cancelled', ?, ?)",
                (order.job, order.step, order.epoch, self._now(), self._now()),
            )
            self._report(order.job, order.step, order.epoch, StepEnd("cancelled"))
            return NextAction.NOTHING
        if found.state == "running":
            self._database.execute(
                "update steps set epoch = ?, state = 'cancelling' where job = ? and step = ?",
                (order.epoch, order.job, order.step),
            )
            return NextAction.ACT
        return self._record_repetition(order, found)

    def _record_repetition(self, order: Order | OrderHead, found: StepEntry) -> NextAction:
        """Report to the latest attempt: now if the step has ended, otherwise when it ends."""
        if order.epoch > found.epoch:
            self._database.execute(
                "update steps set epoch = ? where job = ? and step = ?", (order.epoch, order.job, order.step)
            )
        if found.state != "running" and found.state != "cancelling":
            end = StepEnd(found.state, found.code, found.reason, found.value)
            self._report(order.job, order.step, order.epoch, end)
        return NextAction.NOTHING

    def finish(self, job: str, step: str, end: StepEnd) -> None:
        with transaction(self._database):
            found = self.entry(job, step)
            if found is None:
                raise LookupError(f"{job}/{step} was never recorded")
            self._database.execute(
                "update steps set state = ?, code = ?, reason = ?, value = ?, ended_at = ?"
                " where job = ? and step = ?",
                (end.outcome, end.code, end.reason, encode(end.value), self._now(), job, step),
            )
            self._report(job, step, found.epoch, end)

    def resume(self) -> list[Command]:
        """The commands that were running when the agent stopped, to be executed again. A step that was being
        cancelled is cancelled: its processes ended with the agent. A command that was recorded by a newer
        version, and that this one does not understand, is refused."""
        with transaction(self._database):
            cancelling = "select job, step from steps where state = 'cancelling'"
            for job, step in self._database.execute(cancelling).fetchall():
                self.finish(job, step, StepEnd("cancelled"))
            self._database.execute("update steps set carried_out = carried_out + 1 where state = 'running'")
            running = self._database.execute(
                "select job, step, command from steps where state = 'running' order by taken_at"
            ).fetchall()
            commands = []
            for job, step, command in running:
                try:
                    commands.append(_command.decode(command))
                except msgspec.ValidationError:
                    self.finish(job, step, self._refusal(step))
            return commands

    def _refusal(self, subject: str) -> StepEnd:
        return StepEnd("refused", OUTDATED, explain_outdated(self._node, subject))

    def is_cancelling(self, job: str, step: str) -> bool:
        found = self.entry(job, step)
        return found is not None and found.state == "cancelling"

    def entry(self, job: str, step: str) -> StepEntry | None:
        row = self._database.execute(
            "select epoch, state, code, reason, value, carried_out from steps where job = ? and step = ?",
            (job, step),
        ).fetchone()
        if row is None:
            return None
        epoch, state, code, reason, value, carried_out = row
        return StepEntry(epoch, state, code, reason, _read_value(value), carried_out)

    def pending_reports(self, limit: int) -> list[PendingReport]:
        rows = self._database.execute("select id, result from reports order by rowid limit ?", (limit,))
        return [PendingReport(id_, read_result(result)) for id_, result in rows]

    def remove_report(self, report: PendingReport) -> None:
        self._database.execute("delete from reports where id = ?", (report.id,))

    def remove_old_steps(self) -> int:
        """Remove the steps that ended more than `KEEP_DAYS` ago, and return their number."""
        before = self._now() - KEEP_DAYS * _DAY
        return self._database.execute("delete from steps where ended_at < ?", (before,)).rowcount

    def _report(self, job: str, step: str, epoch: int, end: StepEnd) -> None:
        result = Result(self._node, job, step, epoch, end.outcome, end.code, end.reason, end.value)
        # NATS drops a second message with the same id, so it is safe to send a result again.
        id_ = f"{self._node}.{job}.{step}.{epoch}.{end.outcome}"
        self._database.execute(
            "insert or ignore into reports (id, result, made_at) values (?, ?, ?)",
            (id_, encode(result), self._now()),
        )
        self.on_report()


def _read_value(value: bytes | None) -> WorkResult | None:
    """None for a value of a newer version: it must not hide how the step ended."""
    try:
        return _value.decode(value) if value else None
    except msgspec.ValidationError:
        return None
