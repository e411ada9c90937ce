"""Queries of the schedule, of the results of backups, and of what is kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from stead.control.backups.retention import DatedSnapshot, Retention
from stead.control.engines.postgres import Tx
from stead.shared.ids import lower_bound


@dataclass(frozen=True, slots=True)
class DueSite:
    site_id: str
    env_id: str | None
    """None if the site cannot be backed up now."""
    owner: str


@dataclass(frozen=True, slots=True)
class FailingSite:
    site_id: str
    account_id: str | None
    team_id: str | None
    domain: str
    since: datetime
    reason: str | None


class BackupCounts(NamedTuple):
    sites: int
    succeeded: int
    failed: int
    never: int
    overdue: int


_COMMITTED_AFTER = timedelta(hours=1)
_IN_SERVICE = "s.mode = 'live' and s.runtime <> 'wasm' and s.status in ('running', 'failed', 'awaiting_push')"
_HAS_SNAPSHOT = "n.status = 'kept' and (n.expires_at is null or n.expires_at > $2)"


async def list_unscheduled(tx: Tx, *, limit: int) -> list[str]:
    """Identifiers sort by age. Only sites are read that are newer than those that have a place already, and
    for a while those a little older: their transactions may have ended later."""
    return await tx.all(
        str,
        "select s.id from sites s where s.mode = 'live' and s.runtime <> 'wasm' and s.id > least($1,"
        " (select coalesce(max(site_id), '') from backup_schedules)) and not exists"
        " (select from backup_schedules b where b.site_id = s.id) order by s.id limit $2",
        *(lower_bound("site", tx.now - _COMMITTED_AFTER), limit),
    )


async def insert(tx: Tx, site: str, *, due_at: datetime) -> None:
    await tx.run(
        "insert into backup_schedules (site_id, due_at, since) values ($1, $2, $2)"
        " on conflict (site_id) do nothing",
        *(site, due_at),
    )


async def lock_due(tx: Tx, *, per_node: int, busy_owners: list[str], limit: int) -> list[DueSite]:
    """Sites whose turn it is. A node makes only a few snapshots at the same time: the others wait, those that
    have waited longest first."""
    return await tx.all(
        DueSite,
        f"""
        select b.site_id, case when {_IN_SERVICE} and e.status = 'running' and e.node_id is not null
            then e.id end, coalesce(s.team_id, s.account_id)
        from backup_schedules b join sites s on s.id = b.site_id
        join environments e on e.site_id = s.id and e.type = 'production'
        where b.due_at <= $1 and coalesce(s.team_id, s.account_id) <> all($2)
        and (e.node_id is null or (select count(*) from jobs j join environments o on o.id = j.env_id
          where j.status in ('queued', 'running') and j.type = 'backup.create' and j.by_platform
          and o.node_id = e.node_id) < $3)
        and not exists (select from jobs j where j.site_id = s.id and j.type = 'backup.create'
          and j.status in ('queued', 'running'))
        order by b.due_at limit $4 for update of b skip locked
        """,  # noqa: S608
        *(tx.now, busy_owners, per_node, limit),
    )


async def list_copies(tx: Tx, site: str) -> list[str]:
    """The other WordPress environments of a site that are in service: what they have is nowhere else. An
    environment of a static site has only its release."""
    return await tx.all(
        str,
        "select e.id from environments e join sites s on s.id = e.site_id where s.id = $1"
        " and s.runtime = 'cms' and e.type <> 'production' and e.status = 'running'"
        " and e.node_id is not null and not e.data_lost order by e.id",
        site,
    )


async def set_due(tx: Tx, site: str, due_at: datetime) -> None:
    await tx.run("update backup_schedules set due_at = $2 where site_id = $1", site, due_at)


async def record_success(tx: Tx, site: str, *, due_at: datetime) -> None:
    """A night in which somebody has taken a snapshot has its turn nevertheless."""
    await tx.run(
        "insert into backup_schedules (site_id, due_at, since, last_status, last_ended_at)"
        " values ($1, $2, $3, 'succeeded', $3) on conflict (site_id) do update"
        " set last_status = 'succeeded', last_reason = null, last_ended_at = $3, since = $3,"
        " mailed_at = null, due_at = $2",
        *(site, due_at, tx.now),
    )


async def record_failure(tx: Tx, site: str, reason: str, *, due_at: datetime) -> None:
    await tx.run(
        "insert into backup_schedules as b (site_id, due_at, since, last_status, last_reason, last_ended_at)"
        " values ($1, $2, $3, 'failed', $4, $3) on conflict (site_id) do update"
        " set last_status = 'failed', last_reason = $4, last_ended_at = $3, due_at = $2",
        *(site, due_at, tx.now, reason),
    )


async def lock_overdue(tx: Tx, before: datetime, *, limit: int) -> list[FailingSite]:
    """Sites in service whose last snapshot, or first turn, was before a moment; each once."""
    return await tx.all(
        FailingSite,
        f"select s.id, s.account_id, s.team_id, s.domain, b.since, b.last_reason"  # noqa: S608
        f" from backup_schedules b join sites s on s.id = b.site_id where {_IN_SERVICE}"
        " and b.since < $1 and b.mailed_at is null order by b.since limit $2 for update of b skip locked",
        *(before, limit),
    )


async def mark_mailed(tx: Tx, site: str) -> None:
    await tx.run("update backup_schedules set mailed_at = $2 where site_id = $1", site, tx.now)


async def get_retention(tx: Tx, site: str) -> Retention:
    """Of the plan of the site's owner."""
    found = await tx.one(
        Retention,
        "select p.daily_days, p.weekly, p.monthly from sites s left join teams t on t.id = s.team_id"
        " left join accounts a on a.id = s.account_id"
        " join backup_plans p on p.plan = coalesce(t.plan, a.plan) where s.id = $1",
        site,
    )
    return found or Retention()


async def list_kept(tx: Tx, site: str, env: str) -> list[DatedSnapshot]:
    return await tx.all(
        DatedSnapshot,
        "select n.id, n.kind, n.taken_at, n.verified_at is not null from snapshots n"  # noqa: S608
        f" where n.site_id = $1 and n.env_id = $3 and {_HAS_SNAPSHOT} order by n.id",
        *(site, tx.now, env),
    )


async def set_retention_reason(tx: Tx, snapshot: str, reason: str | None) -> None:
    await tx.run(
        "update snapshots set retention_reason = $2 where id = $1 and retention_reason is distinct from $2",
        *(snapshot, reason),
    )


async def expire(tx: Tx, snapshots: list[str]) -> None:
    """They are not listed any more; their data is removed later."""
    await tx.run(
        "update snapshots set expires_at = $2 where id = any($1) and status = 'kept'", snapshots, tx.now
    )


async def expire_environment(tx: Tx, site: str, env: str) -> None:
    await tx.run(
        "update snapshots set expires_at = $3 where site_id = $1 and env_id = $2 and status = 'kept'"
        " and expires_at is null",
        *(site, env, tx.now),
    )


async def expire_unrecoverable(tx: Tx, *, limit: int) -> int:
    """The snapshots of sites that cannot be recovered any more."""
    return await tx.run(
        "update snapshots set expires_at = $1 where id in (select n.id from snapshots n"
        " join sites s on s.id = n.site_id where s.status = 'deleted' and s.recoverable_until <= $1"
        " and n.status = 'kept' and n.expires_at is null limit $2)",
        *(tx.now, limit),
    )


async def count(tx: Tx, late_before: datetime) -> BackupCounts:
    found = await tx.one(
        BackupCounts,
        "select count(*), count(*) filter (where b.last_status = 'succeeded'),"  # noqa: S608
        " count(*) filter (where b.last_status = 'failed'), count(*) filter (where b.last_status is null),"
        " count(*) filter (where b.since < $1)"
        f" from sites s left join backup_schedules b on b.site_id = s.id where {_IN_SERVICE}",
        late_before,
    )
    return found or BackupCounts(0, 0, 0, 0, 0)


async def list_troubled(tx: Tx, late_before: datetime, *, limit: int) -> list[FailingSite]:
    """Sites that are overdue, or whose last backup failed."""
    return await tx.all(
        FailingSite,
        f"select s.id, s.account_id, s.team_id, s.domain, b.since, b.last_reason"  # noqa: S608
        f" from backup_schedules b join sites s on s.id = b.site_id where {_IN_SERVICE}"
        " and (b.since < $1 or b.last_status = 'failed') order by b.since limit $2",
        *(late_before, limit),
    )
