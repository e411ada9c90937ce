"""Queries of the delivery queue, for the sequencer and the delivery worker.

A pending delivery always has a time for its next attempt. Claiming a delivery moves that time to the end of
the lease; if the worker that claimed it dies, the delivery becomes due again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.outbox.transports import PublishedEvent
from stead.control.webhooks.rules import DISABLE_AFTER, READS_EVENTS, DeliveryStatus
from stead.shared.ids import new_id

LEASE = timedelta(seconds=60)
LOG_LENGTH = 20
INITIAL_LIMIT = 2
"""Deliveries in flight to an endpoint that the worker does not know yet."""
SLOW_SECONDS = 1.0


class EndpointState(Struct):
    """What a delivery worker knows about an endpoint. `limit` bounds `in_flight`; `latency` is in seconds."""

    in_flight: int = 0
    limit: int = INITIAL_LIMIT
    latency: float = 0.0

    @property
    def is_slow(self) -> bool:
        return self.latency > SLOW_SECONDS


class ClaimedDelivery(Struct, frozen=True):
    """A claimed delivery, with everything that is needed to send it."""

    id: str
    claim: int
    attempts: int
    endpoint_id: str
    account_id: str
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
    """Whether the account of the endpoint may still read the event."""


class AttemptResult(Struct, frozen=True):
    """The result of one attempt, and the new state of the delivery."""

    id: str
    claim: int
    endpoint_id: str
    status: DeliveryStatus
    response_status: int | None
    error: str | None
    next_attempt_at: datetime | None
    log_entry: dict[str, Any]
    healthy: bool
    """Whether the endpoint is not failing: it accepted the delivery, or nothing was sent to it."""
    gone: bool = False
    """Whether the endpoint answered 410 Gone."""


async def insert_deliveries(tx: Tx, events: Sequence[PublishedEvent], categories: Sequence[str]) -> None:
    """Insert a delivery for every endpoint that subscribes to an event and whose account may read it."""
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


async def claim_due(
    tx: Tx,
    limit: int,
    known: Mapping[str, EndpointState],
    accounts: Mapping[str, int],
    *,
    per_endpoint: int,
    per_account: int,
    slow: bool,
) -> list[ClaimedDelivery]:
    """Claim due deliveries: accounts with the fewest in flight first, then endpoints with the fewest.

    `slow` selects the lane: endpoints that fail or are known to be slow, or all others. An endpoint never has
    more than `per_endpoint` in flight, nor more than its own limit. All endpoints of an account together
    never have more than `per_account`; `accounts` says how many each account has in flight in this lane.

    The recursive part of the query jumps from one endpoint with pending deliveries to the next, so its cost
    does not depend on the length of their queues.
    """
    return await tx.all(
        ClaimedDelivery,
        """
        with recursive waiting as (
          (select endpoint_id from webhook_deliveries where status = 'pending' order by endpoint_id limit 1)
          union all
          select (select d.endpoint_id from webhook_deliveries d
            where d.status = 'pending' and d.endpoint_id > h.endpoint_id order by d.endpoint_id limit 1)
          from waiting h where h.endpoint_id is not null
        ), lane as (
          select w.id, w.account_id, coalesce(k.in_flight, 0) as in_flight,
            least($2::int, coalesce(k.allowed, $10)) - coalesce(k.in_flight, 0) as free from waiting h
          join webhook_endpoints w on w.id = h.endpoint_id and w.enabled left join unnest($3::text[],
          $4::int[], $5::int[], $11::boolean[]) as k (id, in_flight, allowed, slow)
            on k.id = w.id
          where (w.failing_since is not null or coalesce(k.slow, false)) = $6
        ), due as (
          select d.id, l.account_id, l.in_flight + d.place as turn, d.next_attempt_at
          from lane l cross join lateral (
            select q.id, q.next_attempt_at, row_number() over (order by q.next_attempt_at, q.id) as place
            from (
              select id, next_attempt_at from webhook_deliveries
              where endpoint_id = l.id and status = 'pending' and next_attempt_at <= $7
              order by next_attempt_at, id limit greatest(l.free, 0) for update skip locked
            ) q
          ) d
        ), ranked as (
          select d.*, row_number() over
            (partition by d.account_id order by d.turn, d.next_attempt_at, d.id) as place from due d
        ), chosen as (
          select r.id from ranked r
          left join unnest($12::text[], $13::int[]) as a (id, in_flight) on a.id = r.account_id
          where r.place + coalesce(a.in_flight, 0) <= $14
          order by r.place + coalesce(a.in_flight, 0), r.turn, r.next_attempt_at, r.id limit $1
        ), claimed as (
          update webhook_deliveries d set claim = d.claim + 1, next_attempt_at = $8
          from chosen c where c.id = d.id returning d.id, d.claim, d.attempts, d.endpoint_id, d.event_id
        )
        select c.id, c.claim, c.attempts, w.id, w.account_id, w.url, w.secret,
          w.previous_secret, w.previous_until, e.id, e.type, e.site_id, e.env_id, e.created_at, e.data,
          e.account_id is not distinct from w.account_id or exists (
            select from team_members m where m.team_id = e.team_id and m.account_id = w.account_id
            and m.role = any($9) and (m.expires_at is null or m.expires_at > $7))
        from claimed c join webhook_endpoints w on w.id = c.endpoint_id join events e on e.id = c.event_id
        """,
        limit,
        per_endpoint,
        list(known),
        [each.in_flight for each in known.values()],
        [each.limit for each in known.values()],
        slow,
        tx.now,
        tx.now + LEASE,
        READS_EVENTS,
        INITIAL_LIMIT,
        [each.is_slow for each in known.values()],
        list(accounts),
        list(accounts.values()),
        per_account,
    )


async def count_pending(tx: Tx, limit: int) -> int:
    """How many deliveries have not ended, counted to a limit."""
    return int(
        await tx.value(
            "select count(*) from (select from webhook_deliveries where status = 'pending' limit $1) d", limit
        )
    )


async def oldest_due(tx: Tx) -> datetime | None:
    """Since when a delivery has been due to an endpoint that is not failing and has none in flight.

    An endpoint that is slower than its events would otherwise look like a slow platform. Jumps from endpoint
    to endpoint, as `claim_due` does.
    """
    due: datetime | None = await tx.value(
        """
        with recursive waiting as (
          (select endpoint_id from webhook_deliveries where status = 'pending' order by endpoint_id limit 1)
          union all
          select (select d.endpoint_id from webhook_deliveries d
            where d.status = 'pending' and d.endpoint_id > h.endpoint_id order by d.endpoint_id limit 1)
          from waiting h where h.endpoint_id is not null
        )
        select min(d.next_attempt_at) from waiting h
        join webhook_endpoints w on w.id = h.endpoint_id and w.enabled and w.failing_since is null
        cross join lateral (
          select next_attempt_at from webhook_deliveries
          where endpoint_id = w.id and status = 'pending' order by next_attempt_at limit 1
        ) d
        where d.next_attempt_at <= $1 and not exists (
          select from webhook_deliveries f where f.endpoint_id = w.id and f.status = 'pending'
          and f.next_attempt_at > $1 and f.next_attempt_at <= $2 and f.claim > f.attempts)
        """,
        tx.now,
        tx.now + LEASE,
    )
    return due


async def record_attempts(tx: Tx, results: Sequence[AttemptResult]) -> None:
    """Record results. The result of a delivery that was claimed again or replayed meanwhile is ignored."""
    await tx.run(
        f"""
        update webhook_deliveries d set status = o.status, attempts = d.attempts + 1,
          response_status = o.response_status, last_error = o.error, next_attempt_at = o.next_attempt_at,
          delivered_at = case when o.status = 'delivered' then $8::timestamptz end,
          log = case when jsonb_array_length(d.log) >= {LOG_LENGTH} then d.log - 0 else d.log end || o.entry
        from unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::text[], $6::timestamptz[], $7::jsonb[])
          as o (id, claim, status, response_status, error, next_attempt_at, entry)
        where d.id = o.id and d.claim = o.claim and d.status = 'pending'
        """,  # noqa: S608 - LOG_LENGTH is a constant
        [each.id for each in results],
        [each.claim for each in results],
        [each.status for each in results],
        [each.response_status for each in results],
        [each.error for each in results],
        [each.next_attempt_at for each in results],
        [each.log_entry for each in results],
        tx.now,
    )


async def update_endpoint_health(tx: Tx, healthy: set[str], failing: set[str]) -> list[str]:
    """Record since when endpoints have been failing. Return those that have failed for too long."""
    # Rows are locked in the order of their ids, so that two workers cannot deadlock.
    await tx.run(
        "update webhook_endpoints w set failing_since = case when w.id = any($2) then $3::timestamptz end"
        " from (select id from webhook_endpoints where (id = any($1) and failing_since is not null)"
        " or (id = any($2) and failing_since is null) order by id for update) changed"
        " where w.id = changed.id",
        sorted(healthy),
        sorted(failing),
        tx.now,
    )
    if not failing:
        return []
    return await tx.all(
        str,
        "select id from webhook_endpoints where id = any($1) and enabled and failing_since <= $2",
        sorted(failing),
        tx.now - DISABLE_AFTER,
    )


async def disable_endpoint(tx: Tx, endpoint: str, reason: str) -> str | None:
    """Disable an endpoint and return its account, or None if it is already disabled."""
    account: str | None = await tx.value(
        "update webhook_endpoints set enabled = false, disabled_reason = $2"
        " where id = $1 and enabled returning account_id",
        endpoint,
        reason,
    )
    return account


async def fail_deliveries_to_disabled(tx: Tx, limit: int) -> int:
    """Fail pending deliveries to disabled endpoints. Return how many there were."""
    return await tx.run(
        "update webhook_deliveries set status = 'failed', next_attempt_at = null, claim = claim + 1,"
        " last_error = 'The endpoint is disabled.' where id in (select d.id from webhook_endpoints w"
        " join webhook_deliveries d on d.endpoint_id = w.id and d.status = 'pending'"
        " where not w.enabled limit $1)",
        limit,
    )


async def purge_deleted(tx: Tx, limit: int) -> int:
    """Delete the deliveries of deleted endpoints, then the endpoints. Return how many deliveries there
    were."""
    purged = await tx.run(
        "delete from webhook_deliveries where id in (select d.id from webhook_endpoints w"
        " join webhook_deliveries d on d.endpoint_id = w.id where w.deleted_at is not null limit $1)",
        limit,
    )
    await tx.run(
        "delete from webhook_endpoints w where w.deleted_at is not null"
        " and not exists (select from webhook_deliveries d where d.endpoint_id = w.id)"
    )
    return purged
