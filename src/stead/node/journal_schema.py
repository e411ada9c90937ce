"""The tables of the journal and their versions."""

import sqlite3
from secrets import token_hex
from typing import Any

import msgspec

VERSION = 3

_TABLES = """
create table steps (
    job text not null,
    step text not null,
    epoch integer not null,
    command blob,
    state text not null check (state in ('running', 'cancelling', 'done', 'refused', 'cancelled')),
    code text,
    reason text,
    value blob,
    carried_out integer not null default 0,
    taken_at real not null,
    ended_at real,
    primary key (job, step)
) strict, without rowid;
create index steps_under_way on steps (state) where state in ('running', 'cancelling');
create table reports (id text primary key, result blob not null, made_at real not null) strict;
create table identity (token text not null) strict;
"""


def prepare(database: sqlite3.Connection) -> None:
    """Create the tables, or bring those of an earlier version up to date."""
    (version,) = database.execute("pragma user_version").fetchone()
    if version == VERSION:
        return
    database.execute("begin immediate")
    if version == 0:
        _create(database)
    if version == 1:
        database.execute("alter table steps add column facts blob")
    if version in (1, 2):
        _type_results(database)
        _rename_simulator(database)
    database.execute(f"pragma user_version = {VERSION}")
    database.commit()


def _create(database: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        database.execute(statement)
    database.execute("insert into identity values (?)", (token_hex(16),))


def _type_results(database: sqlite3.Connection) -> None:
    """Until version 2 a result was an untyped map, and only builds returned one."""
    database.execute("alter table steps rename column facts to value")
    for job, step, facts in database.execute("select job, step, value from steps").fetchall():
        value = _typed(msgspec.msgpack.decode(facts)) if facts else None
        database.execute(
            "update steps set value = ? where job = ? and step = ?",
            (msgspec.msgpack.encode(value), job, step),
        )
    for id_, data in database.execute("select id, result from reports").fetchall():
        result: dict[str, Any] = msgspec.msgpack.decode(data)
        result["value"] = _typed(result.pop("facts", None))
        database.execute("update reports set result = ? where id = ?", (msgspec.msgpack.encode(result), id_))


def _rename_simulator(database: sqlite3.Connection) -> None:
    """The simulator was called `sandbox`."""
    rows = database.execute("select job, step, command from steps where command is not null").fetchall()
    for job, step, data in rows:
        command: dict[str, Any] = msgspec.msgpack.decode(data)
        if command["driver"] == "sandbox":
            command["driver"] = "simulator"
            database.execute(
                "update steps set command = ? where job = ? and step = ?",
                (msgspec.msgpack.encode(command), job, step),
            )


def _typed(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"type": "build", **facts} if facts else None
