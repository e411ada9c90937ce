"""Queries of what operators must look at in repositories."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.control.engines.postgres import Tx


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    """A site or a snapshot."""
    since: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Findings:
    count: int
    """Also of those that are not listed."""
    listed: list[Finding]


async def list_problems(tx: Tx, *, limit: int) -> Findings:
    """Repositories that are suspicious or damaged, and when they were last intact."""
    return await _find(
        tx,
        "select site_id, coalesce(maintained_at, created_at), problem, count(*) over () from repositories"
        " where problem is not null order by site_id limit $1",
        limit,
    )


async def list_unmaintained(tx: Tx, before: datetime, *, limit: int) -> Findings:
    """Other repositories whose maintenance is older, those that have waited longest first."""
    return await _find(
        tx,
        "select site_id, coalesce(maintained_at, created_at), case when maintained_at is null"
        " then 'no maintenance has ended yet' else 'no maintenance has ended since' end,"
        " count(*) over () from repositories"
        " where coalesce(maintained_at, created_at) < $2 and initialized_at is not null and problem is null"
        " order by coalesce(maintained_at, created_at) limit $1",
        *(limit, before),
    )


async def list_uncopied(tx: Tx, before: datetime, *, limit: int) -> Findings:
    """Snapshots that were stored earlier and are not in the second store, oldest first. Test sites have no
    repository."""
    return await _find(
        tx,
        "select n.id, coalesce(n.stored_at, n.taken_at), concat('of ', n.site_id, ': ', coalesce(r.problem,"
        " 'last tried at ' || to_char(r.copy_tried_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),"
        " 'not tried yet')), count(*) over ()"
        " from snapshots n join repositories r on r.site_id = n.site_id"
        " where n.status = 'kept' and n.synced_at is null and coalesce(n.stored_at, n.taken_at) < $2"
        " and (n.expires_at is null or n.expires_at > $3) order by 2, 1 limit $1",
        *(limit, before, tx.now),
    )


async def _find(tx: Tx, query: str, *arguments: Any) -> Findings:
    rows = await tx.all(lambda *row: row, query, *arguments)
    return Findings(rows[0][-1] if rows else 0, [Finding(*row[:-1]) for row in rows])
