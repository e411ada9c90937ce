"""Queries of snapshots, repositories and schedules."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from stead.control.backups.rules import Snapshot, SnapshotDocument, SnapshotKind, VisibleSnapshot
from stead.control.backups.schema import BackupStatusRow, SnapshotView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.sites.rules import VisibleSite
from stead.control.sites.visibility import OWNERS, sites_of_owner, viewer
from stead.shared.ids import SnapshotId

_FIRST_MAINTENANCE = timedelta(days=1)
_COLUMNS = (
    "id, site_id, env_id, kind, status, runtime, artifact_id, document, full_check, restic_id,"
    " manifest_digest, size_bytes, taken_at, verified_at, stored_at"
)
_VIEW = (
    "id, site_id, env_id, kind, case kind when 'scheduled' then 'scheduled' else replace(kind, '_', '-') end,"
    " taken_at, size_bytes, verified_at, synced_at, retention_reason"
)
_STATUS = f"""
  with {OWNERS}
  select s.id, s.slug, s.domain, n.taken_at, extract(epoch from $2 - n.taken_at)::bigint, n.size_bytes,
    coalesce(b.last_status, 'never')
  from owners o cross join lateral (
    select * from sites s where {sites_of_owner()} and s.status <> 'deleted' order by s.id desc limit $7
  ) s
  left join backup_schedules b on b.site_id = s.id
  left join lateral (
    select taken_at, size_bytes from snapshots n join environments e on e.id = n.env_id
    where n.site_id = s.id and n.status = 'kept' and (n.expires_at is null or n.expires_at > $2)
    and e.type = 'production' order by n.id desc limit 1
  ) n on true
  order by s.id desc limit $7
"""  # noqa: S608


def _read(*row: Any) -> Snapshot:
    found = list(row)
    found[7] = msgspec.convert(row[7], SnapshotDocument)
    return Snapshot(*found)


async def find_visible(tx: Tx, site: VisibleSite, snapshot: str) -> VisibleSnapshot | None:
    return await tx.one(
        VisibleSnapshot,
        "select id, site_id, env_id from snapshots where site_id = $1 and id = $2 and status = 'kept'"
        " and (expires_at is null or expires_at > $3)",
        *(site.id, snapshot, tx.now),
    )


async def page(tx: Tx, site: VisibleSite, request: PageRequest) -> Page[SnapshotView]:
    return await request.fetch(
        tx,
        SnapshotView,
        f"select {_VIEW} from snapshots where site_id = $1 and status = 'kept'"  # noqa: S608
        " and (expires_at is null or expires_at > $2) and id < $3 order by id desc limit $4",
        *(site.id, tx.now),
    )


async def list_status(tx: Tx, caller: Principal, *, limit: int) -> list[BackupStatusRow]:
    """The newest sites that the caller can see."""
    return await tx.all(BackupStatusRow, _STATUS, *viewer(tx, caller), limit)


async def insert(
    tx: Tx,
    snapshot: SnapshotId,
    document: SnapshotDocument,
    *,
    job: str,
    kind: SnapshotKind,
    full_check: bool,
) -> None:
    """A job takes one snapshot, however often its step is repeated."""
    await tx.run(
        "insert into snapshots (id, site_id, env_id, job_id, kind, status, runtime, artifact_id, document,"
        " full_check, taken_at) values ($1, $2, $3, $4, $5, 'taking', $6, $7, $8, $9, $10)"
        " on conflict (job_id) do nothing",
        *(snapshot, document.site_id, document.env_id, job, kind, document.runtime),
        *(document.release.artifact_id if document.release else None, msgspec.to_builtins(document)),
        *(full_check, tx.now),
    )


async def find_by_job(tx: Tx, job: str) -> Snapshot | None:
    return await tx.one(_read, f"select {_COLUMNS} from snapshots where job_id = $1", job)  # noqa: S608


async def find(tx: Tx, site: str, snapshot: str) -> Snapshot | None:
    return await tx.one(
        _read,
        f"select {_COLUMNS} from snapshots where site_id = $1 and id = $2 and status = 'kept'"  # noqa: S608
        " and (expires_at is null or expires_at > $3)",
        *(site, snapshot, tx.now),
    )


async def find_last_full_check(tx: Tx, site: str, env: str) -> tuple[datetime, str] | None:
    """When a snapshot of the environment was last verified completely, and with which version of the
    engine."""
    return await tx.one(
        lambda moment, engine: (moment, engine),
        "select verified_at, engine from snapshots where site_id = $1 and env_id = $2"
        " and status = 'kept' and verified_at is not null order by id desc limit 1",
        *(site, env),
    )


async def has_snapshot_since(tx: Tx, env: str, moment: datetime) -> bool:
    return bool(
        await tx.value(
            "select exists (select from snapshots n join environments e on e.id = n.env_id"
            " and e.site_id = n.site_id where e.id = $1 and n.status = 'kept' and n.taken_at >= $2"
            " and (n.expires_at is null or n.expires_at > $3))",
            *(env, moment, tx.now),
        )
    )


async def record_taken(
    tx: Tx, snapshot: str, *, restic_id: str, manifest_digest: str, size_bytes: int, added_bytes: int
) -> None:
    """Once, although a node may report it again."""
    recorded = await tx.run(
        "update snapshots set restic_id = $2, manifest_digest = $3, size_bytes = $4, added_bytes = $5,"
        " stored_at = $6 where id = $1 and status = 'taking' and restic_id is null",
        *(snapshot, restic_id, manifest_digest, size_bytes, added_bytes, tx.now),
    )
    if recorded:
        await tx.run(
            "update repositories r set stored_bytes = stored_bytes + $2 from snapshots n"
            " where n.id = $1 and r.site_id = n.site_id",
            *(snapshot, added_bytes),
        )


async def record_verified(tx: Tx, snapshot: str, engine: str) -> None:
    await tx.run(
        "update snapshots set verified_at = $2, engine = $3 where id = $1 and verified_at is null",
        *(snapshot, tx.now, engine),
    )


async def keep(tx: Tx, snapshot: str) -> None:
    await tx.run(
        "update snapshots set status = 'kept',"
        " retention_reason = case kind when 'site_deleted' then kind end"
        " where id = $1 and status = 'taking'",
        snapshot,
    )


async def abandon(tx: Tx, job: str) -> None:
    await tx.run("update snapshots set status = 'failed' where job_id = $1 and status = 'taking'", job)


async def has_unfinished_upload(tx: Tx, site: str) -> bool:
    """Whether a snapshot was abandoned whose size nobody has reported. Maintenance removes its data, measures
    the repository and deletes the row."""
    return bool(
        await tx.value(
            "select exists (select from snapshots where site_id = $1 and status = 'failed'"
            " and restic_id is null)",
            site,
        )
    )


async def set_stored_bytes(tx: Tx, site: str, stored_bytes: int) -> None:
    await tx.run("update repositories set stored_bytes = $2 where site_id = $1", site, stored_bytes)


async def find_repository(tx: Tx, site: str) -> tuple[bytes, bool] | None:
    """The sealed password, and whether the repository was created in the store."""
    return await tx.one(
        lambda password, created: (password, created),
        "select password, initialized_at is not null from repositories where site_id = $1",
        site,
    )


async def insert_repository(tx: Tx, site: str, password: bytes) -> None:
    """If another worker has inserted it meanwhile, its password counts."""
    await tx.run(
        "insert into repositories (site_id, password, created_at, maintenance_due_at)"
        " values ($1, $2, $3, $4) on conflict (site_id) do nothing",
        *(site, password, tx.now, tx.now + _FIRST_MAINTENANCE),
    )


async def is_initialized(tx: Tx, site: str) -> bool:
    return bool(
        await tx.value("select initialized_at is not null from repositories where site_id = $1", site)
    )


async def claim_initialization(tx: Tx, site: str, *, until: datetime) -> bytes | None:
    """The sealed password, for the one worker that may create the repository now."""
    password: bytes | None = await tx.value(
        "update repositories set initializing_until = $2 where site_id = $1 and initialized_at is null"
        " and (initializing_until is null or initializing_until <= $3) returning password",
        *(site, until, tx.now),
    )
    return password


async def release_initialization(tx: Tx, site: str) -> None:
    await tx.run("update repositories set initializing_until = null where site_id = $1", site)


async def mark_initialized(tx: Tx, site: str) -> None:
    await tx.run(
        "update repositories set initialized_at = $2 where site_id = $1 and initialized_at is null",
        *(site, tx.now),
    )
