"""Rows of jobs as the worker uses them: which jobs may run, and how they start and end."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.jobs.events import JOB_FAILED, JOB_QUEUED, JOB_STARTED, JOB_SUCCEEDED
from stead.control.jobs.kinds import JobRow
from stead.control.outbox.events import About, publish

START_GRACE = timedelta(seconds=10)
"""A claimed job has a workflow after this long, unless its worker died."""
PAGE_SIZE = 500
_ROW = "id, type, status, site_id, env_id, params, created_at, dispatched_at"


@dataclass(frozen=True, slots=True)
class Backlog:
    """Jobs that have not ended. Ages are in seconds."""

    waiting: int
    oldest_waiting: float
    running: int
    oldest_running: float
    """Since it was claimed."""

    def merge(self, other: "Backlog") -> "Backlog":
        return Backlog(
            self.waiting + other.waiting,
            max(self.oldest_waiting, other.oldest_waiting),
            self.running + other.running,
            max(self.oldest_running, other.oldest_running),
        )


NO_BACKLOG = Backlog(0, 0.0, 0, 0.0)


async def claim(tx: Tx, limit: int) -> list[JobRow]:
    """Claim jobs that may start: their owner is below its limit, and no earlier job holds the same lock.

    A lock ensures that only one worker claims at a time. Owners with fewer dispatched jobs come first. A job
    that is just being cancelled is skipped: waiting for several of them could become a deadlock.
    """
    if not await tx.value("select pg_try_advisory_xact_lock(hashtext('jobs.claim'))"):
        return []
    return await tx.all(
        JobRow,
        """
        with under_way as (
          select owner, count(*) as n from jobs
          where status in ('queued', 'running') and dispatched_at is not null group by owner
        ), heads as (
          select j.id, j.owner, row_number() over (partition by j.owner order by j.id) as place
          from jobs j where j.status = 'queued' and j.dispatched_at is null
          and not exists (
            select from jobs o where o.site_id = j.site_id and o.id < j.id
            and o.status in ('queued', 'running')
            and (o.env_id is null or j.env_id is null or o.env_id = j.env_id)
            and (o.parallel = 1 or j.parallel = 1))
          and (j.parallel = 1 or j.parallel > (
            select count(*) from jobs o where o.site_id = j.site_id and o.id < j.id
            and o.status in ('queued', 'running') and o.env_id = j.env_id))
        ), chosen as (
          select h.id from heads h left join under_way u on u.owner = h.owner
          left join teams t on t.id = h.owner left join accounts a on a.id = h.owner
          join plans p on p.name = coalesce(t.plan, a.plan)
          where coalesce(u.n, 0) + h.place <= p.max_concurrent_jobs
          order by coalesce(u.n, 0) + h.place, h.id limit $1
        ), locked as (
          select id from jobs where id in (select id from chosen)
          and status = 'queued' and dispatched_at is null for no key update skip locked
        )
        update jobs set dispatched_at = $2
        where id in (select id from locked) and status = 'queued' and dispatched_at is null
        returning id, type, status, site_id, env_id, params, created_at, dispatched_at
        """,
        limit,
        tx.now,
    )


async def list_unstarted(tx: Tx, *, after: str = "", limit: int = PAGE_SIZE) -> list[JobRow]:
    """Jobs that were claimed by a worker that may have died before it started them, by id."""
    return await tx.all(
        JobRow,
        f"select {_ROW} from jobs where status = 'queued' and dispatched_at < $1"  # noqa: S608
        " and id > $2 order by id limit $3",
        tx.now - START_GRACE,
        after,
        limit,
    )


async def measure_backlog(tx: Tx) -> list[tuple[str, Backlog]]:
    """The kinds of job of which some have not ended."""
    return await tx.all(
        lambda kind, *numbers: (kind, Backlog(*numbers)),
        """
        select params ->> 'kind',
          count(*) filter (where status = 'queued'),
          coalesce(extract(epoch from $1 - min(created_at) filter (where status = 'queued')), 0)::float,
          count(*) filter (where status = 'running'),
          coalesce(extract(epoch from $1 - min(dispatched_at) filter (where status = 'running')), 0)::float
        from jobs where status in ('queued', 'running') group by 1
        """,
        tx.now,
    )


async def to_cancel(tx: Tx) -> list[JobRow]:
    """Jobs whose workflow must be cancelled and is not yet."""
    return await tx.all(
        JobRow,
        f"select {_ROW} from jobs where cancel_requested_at is not null and cancel_sent_at is null"  # noqa: S608
        " and status in ('queued', 'running') and dispatched_at is not null order by cancel_requested_at",
    )


async def record_cancel_sent(tx: Tx, job: str) -> None:
    """Skip a row that is locked: it is sent again, while waiting for it would delay other cancellations."""
    await tx.run(
        "update jobs set cancel_sent_at = $2 where id = (select id from jobs where id = $1"
        " and cancel_sent_at is null and status in ('queued', 'running') for no key update skip locked)",
        job,
        tx.now,
    )


async def list_dispatched(tx: Tx, *, after: str = "", limit: int = PAGE_SIZE) -> list[str]:
    """Jobs that were started long enough ago to have a workflow by now, by id."""
    return await tx.all(
        str,
        "select id from jobs where status in ('queued', 'running') and dispatched_at < $1"
        " and id > $2 order by id limit $3",
        tx.now - START_GRACE,
        after,
        limit,
    )


async def remove_ended(tx: Tx, before: str, limit: int) -> int:
    """Remove jobs that have ended and whose id is below `before`. Returns how many.

    The database keeps ended jobs unless a transaction says up to which id it removes them.
    """
    await tx.value("select set_config('stead.remove_jobs_before', $1, true)", before)
    jobs = await tx.all(
        str,
        "select id from jobs where id < $1 and status in ('succeeded', 'failed')"
        " order by id limit $2 for update skip locked",
        before,
        limit,
    )
    await tx.run("delete from job_steps where job_id = any($1)", jobs)
    return await tx.run("delete from jobs where id = any($1)", jobs)


async def get(tx: Tx, job: str) -> JobRow | None:
    return await tx.one(JobRow, f"select {_ROW} from jobs where id = $1", job)  # noqa: S608


async def lock(tx: Tx, job: str) -> JobRow | None:
    """Lock the job until the transaction ends, and return its current state."""
    return await tx.one(JobRow, f"select {_ROW} from jobs where id = $1 for no key update", job)  # noqa: S608


async def lock_unfinished(tx: Tx, kind: str, site: str, env: str | None) -> list[JobRow]:
    """Lock the jobs of a kind that have not ended, of an environment, or else of the whole site."""
    return await tx.all(
        JobRow,
        f"select {_ROW} from jobs where site_id = $1 and ($2::text is null or env_id = $2)"  # noqa: S608
        " and params ->> 'kind' = $3 and status in ('queued', 'running') order by id for no key update",
        *(site, env, kind),
    )


async def request_cancellation(tx: Tx, job: str) -> None:
    await tx.run(
        "update jobs set cancel_requested_at = $2 where id = $1 and cancel_requested_at is null", job, tx.now
    )


async def cancel_under_way(tx: Tx, kind: str, account: str) -> None:
    """Cancel the jobs of a kind that were dispatched, of all sites of an account."""
    await tx.run(
        "update jobs set cancel_requested_at = $3"
        " where site_id in (select id from sites where account_id = $2) and params ->> 'kind' = $1"
        " and status in ('queued', 'running') and dispatched_at is not null"
        " and cancel_requested_at is null",
        *(kind, account, tx.now),
    )


async def mark_running(tx: Tx, job: str) -> None:
    started = await tx.one(
        lambda *row: row,
        "update jobs set status = 'running' where id = $1 and status = 'queued'"
        " returning type, site_id, env_id",
        job,
    )
    if started is not None:
        type_, site, env = started
        await publish(tx, JOB_STARTED, await _about(tx, job, site, env), type=type_)


async def record_asked_node(tx: Tx, job: str, node: str) -> None:
    """Only nodes that were asked may write output for the job."""
    await tx.run(
        "update jobs set nodes = array_append(nodes, $2) where id = $1 and not $2 = any(nodes)", job, node
    )


async def mark_step_done(tx: Tx, job: str, step: str) -> bool:
    """Mark a control step as done in this transaction. False if it is already done."""
    inserted = await tx.run(
        "insert into job_steps (job_id, step) values ($1, $2) on conflict do nothing", job, step
    )
    return inserted == 1


async def may_continue(tx: Tx, job: str, *, undoing: bool) -> bool:
    """Whether a step may commit. Locks the job, so that it cannot be cancelled or end before the commit."""
    return bool(
        await tx.value(
            "select status in ('queued', 'running') and ($2 or cancel_requested_at is null)"
            " from jobs where id = $1 for no key update",
            job,
            undoing,
        )
    )


async def add_results(tx: Tx, job: str, results: dict[str, Any]) -> None:
    await tx.run("update jobs set result = result || $2 where id = $1 and status = 'running'", job, results)


async def finish(tx: Tx, row: JobRow, error: dict[str, Any] | None) -> bool:
    """End a job. False if it has already ended."""
    ended = await tx.run(
        "update jobs set status = $2, error = $3, finished_at = $4"
        " where id = $1 and status in ('queued', 'running')",
        row.id,
        "succeeded" if error is None else "failed",
        error,
        tx.now,
    )
    if ended != 1:
        return False
    about = await _about(tx, row.id, row.site_id, row.env_id)
    event = JOB_SUCCEEDED if error is None else JOB_FAILED
    await publish(tx, event, about, type=row.type, code=error["code"] if error else None)
    return True


async def publish_queued(tx: Tx, job: str, type_: str, site: str, env: str | None) -> None:
    await publish(tx, JOB_QUEUED, await _about(tx, job, site, env), type=type_)


async def _about(tx: Tx, job: str, site: str, env: str | None) -> About:
    owners = await tx.one(lambda *owner: owner, "select account_id, team_id from sites where id = $1", site)
    account, team = owners or (None, None)
    return About(account_id=account, team_id=team, site_id=site, env_id=env, job_id=job)
