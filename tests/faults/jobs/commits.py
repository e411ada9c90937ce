"""Holds transactions that PostgreSQL has committed and not acknowledged: it waits for a standby that does not
exist. What they have written is on disk and survives a crash, but the worker does not know that.

Only transactions that a test names wait: a trigger sets `synchronous_commit` for them. For all others the
local disk is enough, as it is without a standby.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from stead.dev.engines.postgres import DATABASE, SUPERUSER, Postgres
from stead.dev.supervised_program import LOOPBACK
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until

_WAITING = "from pg_stat_activity where wait_event = 'SyncRep'"
_INSTALL = """
create table held_commits (job_id text, step text, primary key (job_id, step));
create function hold_commit() returns trigger language plpgsql as $$
begin
  if exists (select from held_commits h where h.job_id = new.job_id and h.step = new.step) then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  return null;
end $$;
create trigger hold_commit after insert on job_steps for each row execute function hold_commit();
"""
_REMOVE = """
drop trigger hold_commit on job_steps;
drop function hold_commit;
drop table held_commits;
"""
_WAIT_FOR_STANDBY = (
    "alter system set synchronous_commit = 'local'",
    "alter system set synchronous_standby_names = 'missing'",
)
_DO_NOT_WAIT = (
    "alter system reset synchronous_standby_names",
    "alter system reset synchronous_commit",
)


@asynccontextmanager
async def commits_can_be_held(harness: Harness) -> AsyncIterator[None]:
    await _execute_as_superuser(harness, _INSTALL, *_WAIT_FOR_STANDBY, "grant all on held_commits to public")
    try:
        yield
    finally:
        await _execute_as_superuser(harness, *_DO_NOT_WAIT, _REMOVE)


async def _execute_as_superuser(harness: Harness, *statements: str) -> None:
    connection = await asyncpg.connect(
        host=LOOPBACK,
        port=harness.stack[Postgres].port,
        user=SUPERUSER,
        password=harness.stack.secrets["postgres_superuser"],
        database=DATABASE,
    )
    try:
        for statement in statements:
            await connection.execute(statement)
        await connection.execute("select pg_reload_conf()")
    finally:
        await connection.close()


async def hold_commit(harness: Harness, job: str, step: str) -> None:
    await harness.sql("insert into held_commits values ($1, $2)", job, step)


async def break_commits(harness: Harness, number: int) -> None:
    """Wait until so many transactions were held, and break the connection of each. They cannot wait together:
    a transaction that notifies somebody waits for others that do and are held."""
    broken: set[int] = set()

    async def break_next() -> bool:
        broken.update(await release_commits(harness))
        return len(broken) >= number

    await until(break_next, "every commit has lost its connection")


async def wait_until_committed(harness: Harness) -> None:
    await until(lambda: harness.sql(f"select {_WAITING}"), "a transaction is committed and waits")


async def release_commits(harness: Harness) -> set[int]:
    """Let waiting transactions end: their connections break instead of saying that they have committed.
    Return the processes of these connections."""
    rows = await harness.sql(f"select pid, pg_terminate_backend(pid) {_WAITING}")
    return {pid for pid, _ in rows}
