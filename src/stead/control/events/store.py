"""Queries of events, for API callers and for the sequencer."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.events.schema import EventFilter, EventView
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.outbox.transports import PublishedEvent
from stead.shared.roles import MASK, Role

_READS_EVENTS = [role.value for role in Role if "events:read" in MASK[role]]
_VIEW = ", ".join(f"e.{field}" for field in EventView.__struct_fields__)
_PUBLISHED = ", ".join(f"e.{field}" for field in PublishedEvent.__struct_fields__)


async def page(tx: Tx, caller: Principal, query: EventFilter, request: PageRequest) -> Page[EventView]:
    """List events by position, newest first.

    The query reads the index of each owner, so its cost does not depend on the events of other owners. A
    cursor names an event; if that event has expired, everything below it has expired as well.
    """
    return await request.fetch(
        tx,
        EventView,
        f"""
        with owners as (
          select $1::text as id union all select m.team_id from team_members m
          where m.account_id = $1 and (m.expires_at is null or m.expires_at > $2) and m.role = any($3)
        )
        select {_VIEW} from owners o cross join lateral (
          select * from events x where x.owner = o.id and x.position is not null
          and ($8 = '~' or x.position < (select c.position from events c where c.id = $8))
          and (x.mode is null or x.mode = any($4))
          and ($5::text is null or $6 = case $5
            when 'team' then x.team_id when 'site' then x.site_id when 'environment' then x.env_id
            when 'project' then (select s.project_id from sites s where s.id = x.site_id) end)
          and ($7::text is null or x.type = $7)
          order by x.position desc limit $9
        ) e order by e.position desc limit $9
        """,  # noqa: S608 - the columns of a shape
        caller.account_id,
        tx.now,
        _READS_EVENTS,
        caller.modes,
        caller.pin_type,
        caller.pin_id,
        query.type,
    )


async def number_events(tx: Tx, limit: int) -> list[PublishedEvent]:
    """Assign positions to the next committed events, in the order in which they were written.

    The lock admits one sequencer at a time, from its first read until it commits. So positions become visible
    in order, and an event never appears below one that a reader has already seen.
    """
    await tx.value("select pg_advisory_xact_lock(hashtext('events.number'))")
    return await tx.all(
        PublishedEvent,
        f"""
        with next as (
          select id, written from events where position is null order by written limit $1
        ), placed as (
          select id, nextval('event_positions') as position from (select id from next order by written) n
        ), numbered as (
          update events e set position = p.position from placed p where p.id = e.id
          returning {_PUBLISHED}, e.position
        )
        select {_PUBLISHED} from numbered e order by e.position
        """,  # noqa: S608 - the columns of a shape
        limit,
    )


async def measure_unnumbered(tx: Tx, limit: int) -> tuple[int, float]:
    """How many events wait for a position, counted to a limit, and the age of the oldest in seconds."""
    found: tuple[int, float] | None = await tx.one(
        lambda *row: row,
        "select count(*), coalesce(extract(epoch from $1 - min(created_at)), 0)::float from"
        " (select created_at from events where position is null order by written limit $2) e",
        tx.now,
        limit,
    )
    return found or (0, 0.0)


async def delete_before(tx: Tx, before: datetime, limit: int) -> int:
    """Delete old events. Their webhook deliveries are deleted with them."""
    return await tx.run(
        "delete from events where id in"
        " (select id from events where created_at < $1 and position is not null limit $2)",
        before,
        limit,
    )
