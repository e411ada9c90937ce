"""Rows of reports: one for each build that a forge is told about, until it has ended."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.git.forge_rules import BuildProgress

_PROGRESS = """
  select b.id, b.site_id, b.env_id, b.commit, b.status, b.auto_deploy,
    (select d.status from deployments d where d.env_id = b.env_id and d.artifact_id = b.artifact_id
      order by d.id desc limit 1),
    e.type, e.branch, s.slug, s.git_repo, c.forge, c.forge_token, c.forge_repository, r.sent, r.attempts
  from commit_reports r join builds b on b.id = r.build_id join environments e on e.id = b.env_id
    join sites s on s.id = b.site_id join git_connections c on c.site_id = b.site_id
  where r.build_id = $1
"""


class DueReport(NamedTuple):
    build_id: str
    owner: str


class WrittenComment(NamedTuple):
    number: int
    comment: int


async def insert(tx: Tx, site: str, owner: str, build: str) -> None:
    await tx.run(
        "insert into commit_reports (build_id, site_id, owner, due_at, created_at)"
        " select $1, $2, $3, $4, $4 from git_connections where site_id = $2 and forge_token is not null",
        *(build, site, owner, tx.now),
    )


async def claim_due(
    tx: Tx, lease: timedelta, limit: int, busy: Sequence[str], *, per_owner: int
) -> list[DueReport]:
    """Reports that are due. If the worker dies, they are due again after the lease.

    `busy` names the owner of each report that is being sent; an owner never has more than `per_owner`.
    """
    return await tx.all(
        DueReport,
        """
        with waiting as (
          select build_id, row_number() over (partition by owner order by due_at)
            + (select count(*) from unnest($4::text[]) as b (owner) where b.owner = r.owner) as place
          from commit_reports r where due_at <= $1
        ), due as (
          select r.build_id from commit_reports r join waiting w on w.build_id = r.build_id
          where w.place <= $5 and r.due_at <= $1 order by r.due_at limit $3 for update of r skip locked
        )
        update commit_reports r set due_at = $1::timestamptz + $2::interval from due
        where r.build_id = due.build_id returning r.build_id, r.owner
        """,
        *(tx.now, lease, limit, list(busy), per_owner),
    )


async def get_progress(tx: Tx, build: str) -> BuildProgress | None:
    return await tx.one(BuildProgress, _PROGRESS, build)


async def postpone(tx: Tx, build: str, delay: timedelta, *, sent: str | None, attempts: int) -> None:
    await tx.run(
        "update commit_reports set due_at = $2, sent = $3, attempts = $4 where build_id = $1",
        *(build, tx.now + delay, sent, attempts),
    )


async def delete(tx: Tx, build: str) -> None:
    await tx.run("delete from commit_reports where build_id = $1", build)


async def delete_old(tx: Tx, age: timedelta) -> None:
    """Builds end within half an hour. A deployment may wait longer, but not for days."""
    await tx.run("delete from commit_reports where created_at < $1", tx.now - age)


async def set_error(tx: Tx, site: str, error: str | None) -> None:
    await tx.run(
        "update git_connections set forge_error = $2 where site_id = $1 and forge_error is distinct from $2",
        *(site, error),
    )


async def find_comment(tx: Tx, env: str) -> WrittenComment | None:
    return await tx.one(WrittenComment, "select number, comment from preview_comments where env_id = $1", env)


async def save_comment(tx: Tx, env: str, written: WrittenComment) -> None:
    await tx.run(
        "insert into preview_comments (env_id, number, comment) values ($1, $2, $3)"
        " on conflict (env_id) do update set number = $2, comment = $3",
        *(env, written.number, written.comment),
    )
