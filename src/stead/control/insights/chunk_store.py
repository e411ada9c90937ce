"""Queries of chunks: which ones exist, which one is inserted next, and what they may contain."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.insights.chunks import Decision, Decisions
from stead.protocol.telemetry import Chunk, Gap
from stead.shared.clock import from_unix

T = TypeVar("T")

_MILLISECOND = timedelta(milliseconds=1)
"""The times of rows are rounded, and those of chunks are cut."""

CLAIM = timedelta(seconds=20)
"""After this time another worker may insert it too. That changes nothing: ClickHouse knows its name."""
AT_ONCE_OF_NODE = 2
"""How many chunks of one node are inserted at the same time. Workers have more places than that."""
MAX_GAPS_OF_NODE = 1_000
LATEST_GAP = timedelta(minutes=5)
"""By so much a node's clock may be ahead."""
PATIENCE = timedelta(minutes=5)
"""The longest pause after attempts that did not end: a chunk may be the reason why workers die."""


class KnownChunk(NamedTuple):
    status: str
    sha256: bytes
    size: int


class ClaimedChunk(NamedTuple):
    node_id: str
    id: str
    stream: str
    size: int
    sha256: bytes
    rows: int
    first_at: datetime
    last_at: datetime
    until: datetime
    attempts: int
    """This one and those before it that did not end."""
    decisions: Decisions | None

    @property
    def token(self) -> str:
        """What the chunk is inserted under. Nodes choose the ids of their chunks, but not their own name."""
        return f"{self.node_id}/{self.id}"


def _claimed(*row: Any) -> ClaimedChunk:
    read = None if row[-1] is None else msgspec.json.decode(row[-1], type=Decisions)
    return ClaimedChunk._make((*row[:-1], read))


async def is_enrolled(tx: Tx, node: str) -> bool:
    return bool(await tx.value("select exists (select from nodes where id = $1)", node))


async def find(tx: Tx, node: str, chunk: str) -> KnownChunk | None:
    return await tx.one(
        KnownChunk,
        "select status, sha256, size from telemetry_chunks where node_id = $1 and id = $2",
        *(node, chunk),
    )


async def count_waiting(tx: Tx, node: str) -> int:
    return int(
        await tx.value(
            "select count(*) from telemetry_chunks where node_id = $1 and status in ('offered', 'stored')",
            node,
        )
    )


async def insert(tx: Tx, node: str, chunk: Chunk) -> None:
    await tx.run(
        "insert into telemetry_chunks (node_id, id, stream, status, size, sha256, rows, first_at, last_at,"
        " until, offered_at) values ($1, $2, $3, 'offered', $4, $5, $6, $7, $8, $9, $10)"
        " on conflict do nothing",
        *(node, chunk.id, chunk.stream, chunk.size, chunk.sha256, chunk.rows),
        *(from_unix(chunk.first), from_unix(chunk.last) + _MILLISECOND, from_unix(chunk.until), tx.now),
    )


async def offer_again(tx: Tx, node: str, chunk: str) -> None:
    """The node gets another address to put it."""
    await tx.run(
        "update telemetry_chunks set offered_at = $3 where node_id = $1 and id = $2 and status = 'offered'",
        *(node, chunk, tx.now),
    )


async def set_stored(tx: Tx, node: str, chunk: str) -> bool:
    """Return whether it was still offered."""
    changed = await tx.run(
        "update telemetry_chunks set status = 'stored', stored_at = $3"
        " where node_id = $1 and id = $2 and status = 'offered'",
        *(node, chunk, tx.now),
    )
    return bool(changed)


async def insert_gaps(tx: Tx, node: str, gaps: tuple[Gap, ...]) -> None:
    for gap in gaps:
        await _insert_gap(tx, node, gap.stream, from_unix(gap.first), from_unix(gap.last), gap.rows)


async def _insert_gap(tx: Tx, node: str, stream: str, first: datetime, last: datetime, rows: int) -> None:
    """There are only so many of a node: then its latest one becomes longer."""
    last = min(last, tx.now + LATEST_GAP)
    if await tx.value("select count(*) from telemetry_gaps where node_id = $1", node) < MAX_GAPS_OF_NODE:
        await tx.run(
            "insert into telemetry_gaps values ($1, $2, $3, $4, $5) on conflict do nothing",
            *(node, stream, min(first, last), last, rows),
        )
        return
    await tx.run(
        "update telemetry_gaps set last_at = $3, rows = rows + $4 where last_at < $3 and ctid = (select ctid"
        " from telemetry_gaps where node_id = $1 and stream = $2 order by last_at desc limit 1)",
        *(node, stream, last, rows),
    )


async def set_progress_if_idle(tx: Tx, node: str, streams: Sequence[str], until: datetime) -> None:
    """Of streams of which nothing waits: what was inserted is complete up to now."""
    await tx.run(
        "insert into telemetry_progress select $1, s, $3 from unnest($2::text[]) s where not exists"
        " (select from telemetry_chunks where node_id = $1 and stream = s"
        " and status in ('offered', 'stored')) on conflict (node_id, stream) do update set until ="
        " greatest(telemetry_progress.until, excluded.until)",
        *(node, list(streams), until),
    )


async def claim(tx: Tx) -> ClaimedChunk | None:
    """The chunk that was tried least often, and of those the one that waits longest: a chunk that fails again
    and again delays no other. Each attempt without an end doubles the pause until the next."""
    return await tx.one(
        _claimed,
        # Materialized: a join may run a subquery once for each row of the table, and after the update of the
        # row that it has found before, it finds the next one. That would claim chunks that nobody inserts.
        "with next as materialized (select node_id, id from telemetry_chunks where status = 'stored'"
        " and (claimed_until is null or claimed_until <= $1)"
        " and node_id <> all(array(select node_id from telemetry_chunks where inserting_until > $1"
        " group by node_id having count(*) >= $4))"
        " order by tries, stored_at limit 1 for update skip locked)"
        " update telemetry_chunks c set inserting_until = $1::timestamptz + $2::interval,"
        " tries = c.tries + 1, claimed_until = $1::timestamptz + $2::interval"
        " + least($3::interval, interval '1 second' * (2 ^ least(c.attempts, 20) - 1)),"
        " attempts = c.attempts + 1 from next where c.node_id = next.node_id and c.id = next.id"
        " returning c.node_id, c.id, c.stream, c.size, c.sha256, c.rows, c.first_at, c.last_at, c.until,"
        " c.attempts, c.decisions",
        *(tx.now, CLAIM, PATIENCE, AT_ONCE_OF_NODE),
    )


async def release(tx: Tx, chunk: ClaimedChunk, pause: timedelta) -> None:
    """Another attempt may be made after the pause. The chunk is not to blame for this one."""
    await tx.run(
        "update telemetry_chunks set claimed_until = $3, attempts = greatest(attempts - 1, 0),"
        " inserting_until = null where node_id = $1 and id = $2 and status = 'stored'",
        *(chunk.node_id, chunk.id, tx.now + pause),
    )


async def keep_claimed(tx: Tx, chunk: ClaimedChunk) -> None:
    """The attempt has failed, and the chunk may be the reason. The next attempt is made when the claim ends;
    other chunks of the node need not wait for that."""
    await tx.run(
        "update telemetry_chunks set inserting_until = null where node_id = $1 and id = $2",
        *(chunk.node_id, chunk.id),
    )


async def decide(
    tx: Tx,
    chunk: ClaimedChunk,
    environments: list[str],
    first: datetime,
    last: datetime,
    *,
    slack: timedelta,
    max_days: int,
) -> Decisions:
    """A node may report only on environments that it hosted, while it hosted them. The first decision about
    a chunk stays."""
    found = await tx.all(
        lambda env, site, days, since, until: (
            env,
            Decision(
                site,
                min(days, max_days),
                max(since - slack, first).timestamp(),
                min(last, last if until is None else until + slack).timestamp(),
            ),
        ),
        "select p.env_id, e.site_id, coalesce(t.insights_days, a.insights_days), min(p.since),"
        " case when bool_or(p.until is null) then null else max(p.until) end"
        " from environment_placements p join environments e on e.id = p.env_id"
        " join sites s on s.id = e.site_id"
        " left join (teams join plans t on t.name = teams.plan) on teams.id = s.team_id"
        " left join (accounts join plans a on a.name = accounts.plan) on accounts.id = s.account_id"
        " where not (s.status = 'deleted' and coalesce(s.recoverable_until <= $6, false))"
        " and p.node_id = $1 and p.env_id = any($2) and p.since <= $4::timestamptz + $5::interval"
        " and (p.until is null or p.until >= $3::timestamptz - $5::interval)"
        " group by p.env_id, e.site_id, t.insights_days, a.insights_days",
        *(chunk.node_id, environments, first, last, slack, tx.now),
    )
    text = await tx.value(
        "update telemetry_chunks set decisions = coalesce(decisions, $3::jsonb)"
        " where node_id = $1 and id = $2 returning decisions",
        *(chunk.node_id, chunk.id, msgspec.json.encode(dict(found)).decode()),
    )
    return msgspec.json.decode(str(text), type=Decisions)


async def end(tx: Tx, chunk: ClaimedChunk, *, refused: bool, inserted: int) -> None:
    """What was refused is lost, and shown as a gap. What was inserted is complete up to the oldest row of a
    chunk that still waits."""
    ended = await tx.run(
        "update telemetry_chunks set status = $3, inserted = $4, ended_at = $5, decisions = null,"
        " inserting_until = null"
        " where node_id = $1 and id = $2 and status = 'stored'",
        *(chunk.node_id, chunk.id, "refused" if refused else "done", inserted, tx.now),
    )
    if refused and ended:
        await _insert_gap(tx, chunk.node_id, chunk.stream, chunk.first_at, chunk.last_at, chunk.rows)
    await tx.run(
        "insert into telemetry_progress select $1, $2, least($3, (select min(first_at) from telemetry_chunks"
        " where node_id = $1 and stream = $2 and status in ('offered', 'stored')))"
        " on conflict (node_id, stream) do update"
        " set until = greatest(telemetry_progress.until, excluded.until)",
        *(chunk.node_id, chunk.stream, min(chunk.until, tx.now)),
    )


async def withdraw_offers(tx: Tx, before: datetime, limit: int) -> None:
    """Of chunks that were offered and never put. Until they are forgotten their nodes must wait."""
    await tx.run(
        "update telemetry_chunks set status = 'withdrawn', ended_at = $2 where ctid = any(array("
        "select ctid from telemetry_chunks where status = 'offered' and offered_at < $1 limit $3"
        " for update skip locked))",
        *(before, tx.now, limit),
    )


async def list_with_useless_objects(tx: Tx, before: datetime, limit: int) -> list[tuple[str, str]]:
    """Chunks that have ended, and whose last address was given to the node before this time."""
    return await tx.all(
        lambda node, chunk: (node, chunk),
        "select node_id, id from telemetry_chunks where has_object and ended_at is not null"
        " and offered_at < $1 order by offered_at limit $2",
        *(before, limit),
    )


async def set_without_object(tx: Tx, chunks: list[tuple[str, str]]) -> None:
    """Chunks that were withdrawn are forgotten: their nodes may offer them again."""
    listed = ([node for node, _ in chunks], [chunk for _, chunk in chunks])
    await tx.run(
        "delete from telemetry_chunks c using unnest($1::text[], $2::text[]) as r (node, id)"
        " where c.node_id = r.node and c.id = r.id and c.status = 'withdrawn'",
        *listed,
    )
    await tx.run(
        "update telemetry_chunks c set has_object = false from unnest($1::text[], $2::text[]) as r (node, id)"
        " where c.node_id = r.node and c.id = r.id",
        *listed,
    )


async def delete_old(tx: Tx, chunks_before: datetime, before: datetime, limit: int) -> int:
    """Remove what is remembered about chunks, gaps and earlier placements."""
    removed = await tx.run(
        "delete from telemetry_chunks where ctid = any(array(select ctid from telemetry_chunks"
        " where not has_object and ended_at < $1 limit $2))",
        *(chunks_before, limit),
    )
    removed += await tx.run(
        "delete from telemetry_gaps where ctid = any(array("
        "select ctid from telemetry_gaps where last_at < $1 limit $2))",
        *(before, limit),
    )
    removed += await tx.run(
        "delete from environment_placements where ctid = any(array("
        "select ctid from environment_placements where until < $1 limit $2))",
        *(before, limit),
    )
    return removed


async def list_nodes(tx: Tx, make: Callable[..., T]) -> list[T]:
    """Each node with the time up to which everything is inserted, and the number of chunks that wait, of
    those that were refused, and of rows that were lost."""
    return await tx.all(
        make,
        "select n.id, (select min(p.until) from telemetry_progress p where p.node_id = n.id),"
        " (select count(*) from telemetry_chunks c where c.node_id = n.id"
        " and c.status in ('offered', 'stored')),"
        " (select count(*) from telemetry_chunks c where c.node_id = n.id and c.status = 'refused'),"
        " (select coalesce(sum(g.rows), 0)::bigint from telemetry_gaps g where g.node_id = n.id)"
        " from nodes n order by n.id",
    )


async def has_site(tx: Tx, site: str) -> bool:
    """Whether there is or was such a site."""
    return bool(await tx.value("select exists (select from sites where id = $1)", site))


async def leave_out_erased(tx: Tx, decisions: Decisions) -> Decisions:
    """A decision stays, except about sites that were deleted since and cannot be recovered: their rows must
    not come back."""
    erased = set(
        await tx.all(
            str,
            "select id from sites where id = any($1) and status = 'deleted' and recoverable_until <= $2",
            *(list({each.site_id for each in decisions.values()}), tx.now),
        )
    )
    return {env: each for env, each in decisions.items() if each.site_id not in erased}


async def list_to_erase(tx: Tx, before: datetime, limit: int) -> list[str]:
    """Deleted sites that could be recovered until this time, and whose rows are still in ClickHouse."""
    return await tx.all(
        str,
        "select s.id from sites s where s.status = 'deleted' and s.recoverable_until <= $1 and not exists"
        " (select from telemetry_erasures r where r.site_id = s.id) order by s.recoverable_until limit $2",
        *(before, limit),
    )


async def set_erased(tx: Tx, sites: list[str]) -> None:
    await tx.run(
        "insert into telemetry_erasures select unnest($1::text[]), $2 on conflict do nothing",
        *(sites, tx.now),
    )


async def count_stored(tx: Tx, up_to: int) -> int:
    return int(
        await tx.value(
            "select count(*) from (select from telemetry_chunks where status = 'stored' limit $1) c", up_to
        )
    )
