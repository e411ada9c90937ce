"""What a node was asked and how it ended: the memory that makes asking twice the same as asking once.

One row a step. Every change and the result to be reported for it commit together, so a result that could not
be sent yet is sent after a restart. Writes are made on the event loop: they take a few milliseconds, and
nothing else may act between a decision and its record.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Literal

import msgspec

from stead.node.sqlite import transaction
from stead.protocol.commands import Cancel, Command, Facts, Order, Outcome, Result, encode

KEEP_DAYS = 30
_DAY = 86_400.0

_SCHEMA = """
create table steps (
    job text not null,
    step text not null,
    epoch integer not null,
    command blob,
    state text not null check (state in ('running', 'cancelling', 'done', 'refused', 'cancelled')),
    code text,
    reason text,
    facts blob,
    carried_out integer not null default 0,
    taken_at real not null,
    ended_at real,
    primary key (job, step)
) strict, without rowid;
create index steps_under_way on steps (state) where state in ('running', 'cancelling');
create table reports (id text primary key, result blob not null, made_at real not null) strict;
create table identity (token text not null) strict;
"""

_VERSION = 2

_command = msgspec.msgpack.Decoder(Command)
_result = msgspec.msgpack.Decoder(Result)
_facts = msgspec.msgpack.Decoder(Facts)


class Answer(StrEnum):
    """What the agent has to do about an order that was taken down."""

    ACT = "act"
    NOTHING = "nothing"
    """It is under way already, or its answer is waiting to be reported."""


State = Literal["running", "cancelling", "done", "refused", "cancelled"]


@dataclass(frozen=True)
class Entry:
    epoch: int
    state: State
    code: str | None
    reason: str | None
    facts: Facts
    carried_out: int


@dataclass(frozen=True)
class Ending:
    outcome: Outcome
    code: str | None = None
    reason: str | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    id: str
    result: Result


class Journal:
    def __init__(self, path: Path, node: str, *, now: Callable[[], float] = time.time) -> None:
        self._node, self._now = node, now
        self.reported: Callable[[], None] = lambda: None
        """Called when there is a result to report."""
        self._database = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        (version,) = self._database.execute("pragma user_version").fetchone()
        if version == 0:
            self._database.executescript(f"begin; {_SCHEMA}")
            self._database.execute("insert into identity values (?)", (token_hex(16),))
            self._database.execute(f"pragma user_version = {_VERSION}")
            self._database.commit()
        elif version == 1:
            self._database.executescript(
                f"begin; alter table steps add column facts blob; pragma user_version = {_VERSION}; commit;"
            )

    def close(self) -> None:
        self._database.close()

    @property
    def token(self) -> str:
        """By this an agent recognises processes of its own earlier life."""
        (token,) = self._database.execute("select token from identity").fetchone()
        return str(token)

    def take(self, order: Order) -> Answer:
        with transaction(self._database):
            found = self.entry(order.job, order.step)
            if found is not None and found.epoch > order.epoch:
                self._report(order.job, order.step, order.epoch, Ending("stale"))
                return Answer.NOTHING
            return self._cancel(order, found) if isinstance(order, Cancel) else self._command(order, found)

    def _command(self, order: Command, found: Entry | None) -> Answer:
        # Cancelling ends an asking, not the step: a newer asking than the one that was cancelled is meant.
        if found is None or (found.state == "cancelled" and order.epoch > found.epoch):
            self._database.execute(
                "insert into steps (job, step, epoch, command, state, carried_out, taken_at)"
                " values (?, ?, ?, ?, 'running', 1, ?) on conflict do update set epoch = excluded.epoch,"
                " command = excluded.command, state = 'running', carried_out = carried_out + 1,"
                " taken_at = excluded.taken_at, ended_at = null",
                (order.job, order.step, order.epoch, encode(order), self._now()),
            )
            return Answer.ACT
        return self._ask_again(order, found)

    def _cancel(self, order: Cancel, found: Entry | None) -> Answer:
        if found is None:
            # The command may still be on its way; it must find the door closed.
            self._database.execute(
                "insert into steps (job, step, epoch, state, taken_at, ended_at)"
                " values (?, ?, ?, 'cancelled', ?, ?)",
                (order.job, order.step, order.epoch, self._now(), self._now()),
            )
            self._report(order.job, order.step, order.epoch, Ending("cancelled"))
            return Answer.NOTHING
        if found.state == "running":
            self._database.execute(
                "update steps set epoch = ?, state = 'cancelling' where job = ? and step = ?",
                (order.epoch, order.job, order.step),
            )
            return Answer.ACT
        return self._ask_again(order, found)

    def _ask_again(self, order: Order, found: Entry) -> Answer:
        """The newer asker gets the result: now if there is one, else when there is."""
        if order.epoch > found.epoch:
            self._database.execute(
                "update steps set epoch = ? where job = ? and step = ?", (order.epoch, order.job, order.step)
            )
        if found.state != "running" and found.state != "cancelling":
            ending = Ending(found.state, found.code, found.reason, found.facts)
            self._report(order.job, order.step, order.epoch, ending)
        return Answer.NOTHING

    def finish(self, job: str, step: str, ending: Ending) -> None:
        with transaction(self._database):
            found = self.entry(job, step)
            if found is None:
                raise LookupError(f"{job}/{step} was never taken down")
            self._database.execute(
                "update steps set state = ?, code = ?, reason = ?, facts = ?, ended_at = ?"
                " where job = ? and step = ?",
                (ending.outcome, ending.code, ending.reason, encode(ending.facts), self._now(), job, step),
            )
            self._report(job, step, found.epoch, ending)

    def resume(self) -> list[Command]:
        """What an earlier life left running, to be carried out again; what it was cancelling is at rest."""
        with transaction(self._database):
            cancelling = "select job, step from steps where state = 'cancelling'"
            for job, step in self._database.execute(cancelling).fetchall():
                self.finish(job, step, Ending("cancelled"))
            self._database.execute("update steps set carried_out = carried_out + 1 where state = 'running'")
            left = self._database.execute(
                "select command from steps where state = 'running' order by taken_at"
            )
            return [_command.decode(command) for (command,) in left]

    def cancelling(self, job: str, step: str) -> bool:
        found = self.entry(job, step)
        return found is not None and found.state == "cancelling"

    def entry(self, job: str, step: str) -> Entry | None:
        row = self._database.execute(
            "select epoch, state, code, reason, facts, carried_out from steps where job = ? and step = ?",
            (job, step),
        ).fetchone()
        if row is None:
            return None
        epoch, state, code, reason, facts, carried_out = row
        return Entry(epoch, state, code, reason, _facts.decode(facts) if facts else {}, carried_out)

    def unreported(self, limit: int) -> list[Report]:
        rows = self._database.execute("select id, result from reports order by rowid limit ?", (limit,))
        return [Report(id_, _result.decode(result)) for id_, result in rows]

    def sent(self, report: Report) -> None:
        self._database.execute("delete from reports where id = ?", (report.id,))

    def forget_old(self) -> int:
        """Removes steps that ended long ago; how many."""
        before = self._now() - KEEP_DAYS * _DAY
        return self._database.execute("delete from steps where ended_at < ?", (before,)).rowcount

    def _report(self, job: str, step: str, epoch: int, ending: Ending) -> None:
        result = Result(
            self._node, job, step, epoch, ending.outcome, ending.code, ending.reason, ending.facts
        )
        # The server drops a second copy by this name, so sending again what may have arrived is harmless.
        id_ = f"{self._node}.{job}.{step}.{epoch}.{ending.outcome}"
        self._database.execute(
            "insert or ignore into reports (id, result, made_at) values (?, ?, ?)",
            (id_, encode(result), self._now()),
        )
        self.reported()
