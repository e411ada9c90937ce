"""Queries of the maintenance of repositories: who uses one alone, what is due, and what was found."""

from datetime import datetime

from stead.control.backups.repository_rules import (
    NewestSnapshot,
    RecordedSnapshot,
    RepositoryState,
    Rewriting,
)
from stead.control.engines.postgres import Tx

_IDLE = (
    "not exists (select from jobs j where j.site_id = r.site_id and (j.status = 'running'"
    " or j.status = 'queued' and j.dispatched_at is not null))"
)
_FREE = "(r.held_until is null or r.held_until <= $2)"
_DUE = f"""
  select r.site_id from repositories r
  where r.maintenance_due_at <= $2 and r.initialized_at is not null and {_FREE} and {_IDLE}
  order by r.maintenance_due_at limit $1
"""  # noqa: S608
_UNCOPIED = f"""
  select r.site_id from repositories r
  where exists (
    select from snapshots n where n.site_id = r.site_id and n.status = 'kept' and n.synced_at is null
  ) and {_FREE} and {_IDLE}
  order by r.copy_tried_at nulls first, r.site_id limit $1
"""  # noqa: S608


async def lock(tx: Tx, site: str) -> RepositoryState | None:
    """Jobs and maintenance that begin at the same time see each other, because both lock the row."""
    return await tx.one(
        RepositoryState,
        "select password, initialized_at is not null, held_until is not null and held_until > $2,"
        " is_closed from repositories where site_id = $1 for update",
        *(site, tx.now),
    )


async def hold(tx: Tx, site: str, holder: str, until: datetime) -> bool:
    """Take the repository, unless somebody else has it or a job of the site is running."""
    await lock(tx, site)
    return bool(
        await tx.run(
            f"update repositories r set holder = $3, held_until = $4, wanted_at = null"  # noqa: S608
            f" where site_id = $1 and {_FREE} and {_IDLE}",
            *(site, tx.now, holder, until),
        )
    )


async def extend(tx: Tx, site: str, holder: str, until: datetime) -> bool:
    """False if a job waits for the repository, or somebody else has it."""
    return bool(
        await tx.run(
            "update repositories set held_until = $3 where site_id = $1 and holder = $2"
            " and held_until > $4 and wanted_at is null",
            *(site, holder, until, tx.now),
        )
    )


async def release(tx: Tx, site: str, holder: str) -> None:
    await tx.run(
        "update repositories set holder = null, held_until = null where site_id = $1 and holder = $2",
        *(site, holder),
    )


async def ask_for(tx: Tx, site: str) -> None:
    """Whoever maintains the repository stops soon."""
    await tx.run("update repositories set wanted_at = $2 where site_id = $1", site, tx.now)


async def set_closed(tx: Tx, site: str, *, is_closed: bool) -> None:
    await tx.run("update repositories set is_closed = $2 where site_id = $1", site, is_closed)


async def list_due(tx: Tx, *, limit: int) -> list[str]:
    """Sites whose repository was not maintained for a while, those that have waited longest first."""
    return await tx.all(str, _DUE, limit, tx.now)


async def postpone(tx: Tx, site: str, *, until: datetime) -> None:
    await tx.run(
        "update repositories set maintenance_due_at = greatest(maintenance_due_at, $2) where site_id = $1",
        *(site, until),
    )


async def list_uncopied(tx: Tx, *, limit: int) -> list[str]:
    """Sites with snapshots that are not in the second store yet, first those whose last attempt is oldest:
    one that fails again and again does not keep others waiting."""
    return await tx.all(
        str,
        _UNCOPIED,
        *(limit, tx.now),
    )


async def record_copy_tried(tx: Tx, site: str) -> None:
    await tx.run("update repositories set copy_tried_at = $2 where site_id = $1", site, tx.now)


async def find_rewriting(tx: Tx, site: str) -> Rewriting:
    found = await tx.one(
        Rewriting, "select is_being_rewritten, rewritten_at from repositories where site_id = $1", site
    )
    return found or Rewriting(is_unfinished=False, ended_at=None)


async def begin_rewriting(tx: Tx, site: str) -> None:
    """From now on, files that older snapshots need may be newer than these snapshots."""
    await tx.run("update repositories set is_being_rewritten = true where site_id = $1", site)


async def end_rewriting(tx: Tx, site: str) -> None:
    await tx.run(
        "update repositories set is_being_rewritten = false, rewritten_at = $2 where site_id = $1",
        *(site, tx.now),
    )


async def list_all(tx: Tx) -> list[str]:
    return await tx.all(str, "select site_id from repositories where initialized_at is not null order by 1")


async def get_password(tx: Tx, site: str) -> bytes | None:
    password: bytes | None = await tx.value(
        "select password from repositories where site_id = $1 and initialized_at is not null", site
    )
    return password


async def list_snapshots(tx: Tx, site: str) -> list[RecordedSnapshot]:
    """Every snapshot that the site ever began and whose data may be in the repository, oldest first."""
    return await tx.all(
        RecordedSnapshot,
        "select id, env_id, status, restic_id, manifest_digest, size_bytes, taken_at, synced_at,"
        " status = 'kept' and (expires_at is null or expires_at > $2) or status = 'taking'"
        " from snapshots where site_id = $1 order by id",
        *(site, tx.now),
    )


async def find_problem(tx: Tx, site: str) -> tuple[str | None, datetime | None]:
    found = await tx.one(
        lambda problem, accepted: (problem, accepted),
        "select problem, problem_accepted_at from repositories where site_id = $1",
        site,
    )
    return found or (None, None)


async def record_problem(tx: Tx, site: str, problem: str, *, due_at: datetime) -> bool:
    """Returns whether it is a new one."""
    await tx.run("update repositories set maintenance_due_at = $2 where site_id = $1", site, due_at)
    return bool(
        await tx.run(
            "update repositories set problem = $2, problem_accepted_at = null"
            " where site_id = $1 and problem is distinct from $2",
            *(site, problem),
        )
    )


async def accept_problem(tx: Tx, site: str) -> bool:
    """The next maintenance goes on although it finds the same."""
    return bool(
        await tx.run(
            "update repositories set problem_accepted_at = $2, maintenance_due_at = $2"
            " where site_id = $1 and problem is not null",
            *(site, tx.now),
        )
    )


async def record_maintained(tx: Tx, site: str, *, stored_bytes: int, pruned: bool, due_at: datetime) -> None:
    await tx.run(
        "update repositories set maintained_at = $2, checked_at = $2, stored_bytes = $3, problem = null,"
        " problem_accepted_at = null, pruned_at = case when $4 then $2 else pruned_at end,"
        " maintenance_due_at = $5 where site_id = $1",
        *(site, tx.now, stored_bytes, pruned, due_at),
    )


async def record_repaired(tx: Tx, site: str) -> None:
    """It is maintained soon, which says whether it is intact."""
    await tx.run(
        "update repositories set problem = null, problem_accepted_at = null, maintenance_due_at = $2"
        " where site_id = $1",
        *(site, tx.now),
    )


async def delete_snapshots(tx: Tx, ids: list[str]) -> None:
    """Rows whose data was removed. One that is kept after all stays."""
    await tx.run(
        "delete from snapshots where id = any($1) and (status = 'failed' or expires_at <= $2)", ids, tx.now
    )


async def is_over(tx: Tx, site: str) -> bool:
    """Whether the site cannot be recovered any more, and no snapshot of it is kept."""
    return bool(
        await tx.value(
            "select s.status = 'deleted' and s.recoverable_until <= $2 and not exists (select"
            " from snapshots n where n.site_id = s.id and n.status <> 'failed'"
            " and (n.expires_at is null or n.expires_at > $2)) from sites s where s.id = $1",
            *(site, tx.now),
        )
    )


async def delete_repository(tx: Tx, site: str) -> None:
    await tx.run("delete from snapshots where site_id = $1", site)
    await tx.run("delete from repositories where site_id = $1", site)


async def mark_synced(tx: Tx, ids: list[str]) -> None:
    await tx.run(
        "update snapshots set synced_at = $2 where id = any($1) and status = 'kept' and synced_at is null",
        *(ids, tx.now),
    )


async def list_blobs_of_releases(tx: Tx, site: str) -> list[str]:
    """The digests of the layers of artifacts that snapshots or environments of the site use."""
    return await tx.all(
        str,
        "select distinct a.layer_digest from artifacts a where a.site_id = $1 and (exists (select from"
        " snapshots n where n.artifact_id = a.id) or exists (select from deployments d where"
        " d.artifact_id = a.id and d.status = 'live'))",
        site,
    )


async def mark_lost(tx: Tx, ids: list[str]) -> None:
    """Snapshots whose data is gone are not listed any more."""
    await tx.run("update snapshots set status = 'failed' where id = any($1) and status = 'kept'", ids)


async def list_newest_of_wordpress(tx: Tx, node: str | None) -> list[NewestSnapshot]:
    """The newest snapshot of every WordPress environment whose data was lost with its node. What others serve
    is newer than their snapshots."""
    return await tx.all(
        NewestSnapshot,
        "select distinct on (n.env_id) n.env_id, n.site_id, n.id, coalesce(s.team_id, s.account_id)"
        " from snapshots n join environments e on e.id = n.env_id join sites s on s.id = n.site_id"
        " where n.status = 'kept' and n.runtime = 'cms' and (n.expires_at is null or n.expires_at > $1)"
        " and e.status in ('running', 'failed') and e.data_lost and s.mode = 'live'"
        " and ($2::text is null or e.node_id = $2)"
        " and not exists (select from jobs j where j.site_id = n.site_id"
        " and j.params->'with'->>'environment' = n.env_id and j.type = 'backup.restore'"
        " and j.status in ('queued', 'running'))"
        " order by n.env_id, n.id desc",
        *(tx.now, node),
    )
