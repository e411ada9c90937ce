"""The courier's side of deliveries: which are due, how each attempt went. Only the worker comes here.

A delivery that waits always has a next attempt. Claiming one moves that attempt behind the lease: should
whoever claimed it die, it is due again by itself.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.outbox.transports import PublishedEvent
from stead.control.webhooks.rules import GIVE_UP_ON_ENDPOINT, READS_EVENTS, DeliveryStatus
from stead.shared.ids import new_id

LEASE = timedelta(seconds=60)
LOG_LENGTH = 20
STRANGERS_SHARE = 2
"""Deliveries under way to an endpoint of which nothing is known yet."""
SLOW_SECONDS = 1.0


class Pace(Struct):
    """What a courier knows of an endpoint: how many are under way, how many may be, how long they take."""

    taken: int = 0
    share: int = STRANGERS_SHARE
    seconds: float = 0.0

    @property
    def is_slow(self) -> bool:
        return self.seconds > SLOW_SECONDS


class Parcel(Struct, frozen=True):
    """A delivery that was claimed, and all it takes to make it."""

    id: str
    claim: int
    attempts: int
    endpoint_id: str
    url: str
    secret: bytes
    previous_secret: bytes | None
    previous_until: datetime | None
    event_id: str
    type: str
    site_id: str | None
    env_id: str | None
    created_at: datetime
    data: dict[str, Any]
    readable: bool
    """Whether the endpoint's account may still read the event."""


class Outcome(Struct, frozen=True):
    """How an attempt went, and what follows."""

    id: str
    claim: int
    endpoint_id: str
    status: DeliveryStatus
    response_status: int | None
    error: str | None
    next_attempt_at: datetime | None
    entry: dict[str, Any]
    reached: bool
    """Whether it was taken: the endpoint is not failing any more."""
    gone: bool = False
    """Whether the endpoint asked for nothing more."""


async def insert(tx: Tx, events: Sequence[PublishedEvent], categories: Sequence[str]) -> None:
    pairs = await tx.all(
        lambda event, endpoint: (event, endpoint),
        """
        with batch as (
          select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
            $7::text[], $8::text[], $9::timestamptz[])
            with ordinality
            as b (id, type, category, account_id, team_id, site_id, env_id, mode, created_at, place)
        ), read as (
          select b.*, b.account_id as reader from batch b where b.team_id is null
          union all
          select b.*, m.account_id from batch b join team_members m on m.team_id = b.team_id
          where m.role = any($10) and (m.expires_at is null or m.expires_at > $11)
        )
        select r.id, w.id from read r join webhook_endpoints w
          on w.account_id = r.reader and w.enabled and w.deleted_at is null and w.created_at <= r.created_at
        where (r.mode is null or r.mode = w.mode)
        and w.event_types && array['*', r.type, 'category:' || r.category]
        and (w.pin_type is null or w.pin_id = case w.pin_type
          when 'team' then r.team_id when 'site' then r.site_id when 'environment' then r.env_id
          when 'project' then (select s.project_id from sites s where s.id = r.site_id) end)
        order by r.place, w.id
        """,
        [event.id for event in events],
        [event.type for event in events],
        list(categories),
        [event.account_id for event in events],
        [event.team_id for event in events],
        [event.site_id for event in events],
        [event.env_id for event in events],
        [event.mode for event in events],
        [event.created_at for event in events],
        READS_EVENTS,
        tx.now,
    )
    if pairs:
        await tx.run(
            "insert into webhook_deliveries (id, event_id, endpoint_id, created_at, next_attempt_at)"
            " select i, e, w, $4, $4 from unnest($1::text[], $2::text[], $3::text[]) as t (i, e, w)"
            " on conflict do nothing",
            [new_id("whd") for _ in pairs],
            [event for event, _ in pairs],
            [endpoint for _, endpoint in pairs],
            tx.now,
        )


async def claim(tx: Tx, most: int, known: Mapping[str, Pace], *, share: int, slow: bool) -> list[Parcel]:
    """Take up what is due: each endpoint's oldest, never more than its share, those with the least first.

    Endpoints that fail or are known to be slow are one lane, all others another. No endpoint gets more than
    `share`, and one that is not known no more than a stranger does. The first part hops from one endpoint
    that waits to the next, whatever the length of its queue.
    """
    return await tx.all(
        Parcel,
        """
        with recursive hops as (
          (select endpoint_id from webhook_deliveries where status = 'pending' order by endpoint_id limit 1)
          union all
          select (select d.endpoint_id from webhook_deliveries d
            where d.status = 'pending' and d.endpoint_id > h.endpoint_id order by d.endpoint_id limit 1)
          from hops h where h.endpoint_id is not null
        ), places as (
          select w.id, coalesce(k.taken, 0) as taken,
            least($2::int, coalesce(k.share, $10)) - coalesce(k.taken, 0) as free from hops h
          join webhook_endpoints w on w.id = h.endpoint_id and w.enabled
          left join unnest($3::text[], $4::int[], $5::int[], $11::boolean[]) as k (id, taken, share, slow)
            on k.id = w.id
          where (w.failing_since is not null or coalesce(k.slow, false)) = $6
        ), due as (
          select d.id, p.taken + d.place as turn, d.next_attempt_at from places p cross join lateral (
            select q.id, q.next_attempt_at, row_number() over (order by q.next_attempt_at, q.id) as place
            from (
              select id, next_attempt_at from webhook_deliveries
              where endpoint_id = p.id and status = 'pending' and next_attempt_at <= $7
              order by next_attempt_at, id limit greatest(p.free, 0) for update skip locked
            ) q
          ) d
        ), chosen as (
          select id from due order by turn, next_attempt_at, id limit $1
        ), claimed as (
          update webhook_deliveries d set claim = d.claim + 1, next_attempt_at = $8
          from chosen c where c.id = d.id returning d.id, d.claim, d.attempts, d.endpoint_id, d.event_id
        )
        select c.id, c.claim, c.attempts, w.id, w.url, w.secret, w.previous_secret, w.previous_until,
          e.id, e.type, e.site_id, e.env_id, e.created_at, e.data,
          e.account_id is not distinct from w.account_id or exists (
            select from team_members m where m.team_id = e.team_id and m.account_id = w.account_id
            and m.role = any($9) and (m.expires_at is null or m.expires_at > $7))
        from claimed c join webhook_endpoints w on w.id = c.endpoint_id join events e on e.id = c.event_id
        """,
        most,
        share,
        list(known),
        [each.taken for each in known.values()],
        [each.share for each in known.values()],
        slow,
        tx.now,
        tx.now + LEASE,
        READS_EVENTS,
        STRANGERS_SHARE,
        [each.is_slow for each in known.values()],
    )


async def record(tx: Tx, outcomes: Sequence[Outcome]) -> None:
    """Write down how attempts went, unless a delivery was claimed or replayed anew meanwhile."""
    await tx.run(
        f"""
        update webhook_deliveries d set status = o.status, attempts = d.attempts + 1,
          response_status = o.response_status, last_error = o.error, next_attempt_at = o.next_attempt_at,
          delivered_at = case when o.status = 'delivered' then $8::timestamptz end,
          log = case when jsonb_array_length(d.log) >= {LOG_LENGTH} then d.log - 0 else d.log end || o.entry
        from unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::text[], $6::timestamptz[], $7::jsonb[])
          as o (id, claim, status, response_status, error, next_attempt_at, entry)
        where d.id = o.id and d.claim = o.claim and d.status = 'pending'
        """,  # noqa: S608 - a number of ours
        [each.id for each in outcomes],
        [each.claim for each in outcomes],
        [each.status for each in outcomes],
        [each.response_status for each in outcomes],
        [each.error for each in outcomes],
        [each.next_attempt_at for each in outcomes],
        [each.entry for each in outcomes],
        tx.now,
    )


async def note_health(tx: Tx, reached: set[str], failed: set[str]) -> list[str]:
    """Since when endpoints fail; say which have for so long that they are given up."""
    # Locked in one order, whoever else writes down the same endpoints: two couriers never wait in a circle.
    await tx.run(
        "update webhook_endpoints w set failing_since = case when w.id = any($2) then $3::timestamptz end"
        " from (select id from webhook_endpoints where (id = any($1) and failing_since is not null)"
        " or (id = any($2) and failing_since is null) order by id for update) changed"
        " where w.id = changed.id",
        sorted(reached),
        sorted(failed),
        tx.now,
    )
    if not failed:
        return []
    return await tx.all(
        str,
        "select id from webhook_endpoints where id = any($1) and enabled and failing_since <= $2",
        sorted(failed),
        tx.now - GIVE_UP_ON_ENDPOINT,
    )


async def disable(tx: Tx, endpoint: str, reason: str) -> str | None:
    """Whose it was; None when it was disabled already."""
    account: str | None = await tx.value(
        "update webhook_endpoints set enabled = false, disabled_reason = $2"
        " where id = $1 and enabled returning account_id",
        endpoint,
        reason,
    )
    return account


async def fail_unsendable(tx: Tx, most: int) -> int:
    return await tx.run(
        "update webhook_deliveries set status = 'failed', next_attempt_at = null, claim = claim + 1,"
        " last_error = 'The endpoint is disabled.' where id in (select d.id from webhook_endpoints w"
        " join webhook_deliveries d on d.endpoint_id = w.id and d.status = 'pending'"
        " where not w.enabled limit $1)",
        most,
    )


async def clear_deleted(tx: Tx, most: int) -> int:
    cleared = await tx.run(
        "delete from webhook_deliveries where id in (select d.id from webhook_endpoints w"
        " join webhook_deliveries d on d.endpoint_id = w.id where w.deleted_at is not null limit $1)",
        most,
    )
    await tx.run(
        "delete from webhook_endpoints w where w.deleted_at is not null"
        " and not exists (select from webhook_deliveries d where d.endpoint_id = w.id)"
    )
    return cleared
