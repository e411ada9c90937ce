"""Queries of notifications. Every query is restricted to one account."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.notifications.schema import NotificationFilter, NotificationView, Preference

_VIEW = ", ".join(f"n.{field}" for field in NotificationView.__struct_fields__)
_VISIBLE = """
  n.account_id = $1 and n.in_app and (n.mode is null or n.mode = any($2))
  and ($3::text is null or $4 = case $3
    when 'team' then n.team_id when 'site' then n.site_id when 'environment' then n.env_id
    when 'project' then (select s.project_id from sites s where s.id = n.site_id) end)
"""


class NotificationContent(Struct, frozen=True):
    """A notification before it is addressed to its recipients. `roles` are the team roles that receive it."""

    event_id: str
    account_id: str | None
    team_id: str | None
    site_id: str | None
    env_id: str | None
    mode: str | None
    type: str
    category: str
    severity: str
    bell: bool
    title: str
    body: str
    payload: dict[str, Any]
    in_app: bool
    email: bool
    roles: list[str]


class DigestEntry(Struct, frozen=True):
    """A notification in an email."""

    id: str
    category: str
    severity: str
    title: str
    body: str
    site_id: str | None
    created_at: datetime


def _viewer(caller: Principal) -> tuple[object, ...]:
    return caller.account_id, caller.modes, caller.pin_type, caller.pin_id


async def page(
    tx: Tx, caller: Principal, query: NotificationFilter, request: PageRequest
) -> Page[NotificationView]:
    return await request.fetch(
        tx,
        NotificationView,
        f"select {_VIEW} from notifications n where {_VISIBLE}"  # noqa: S608 - the columns of a shape
        " and ($5::boolean is null or (n.read_at is null) = $5) and ($6::boolean is null or n.bell = $6)"
        " and ($7::text is null or n.category = $7) and ($8::text is null or n.severity = $8)"
        " and n.id < $9 order by n.id desc limit $10",
        *_viewer(caller),
        *(query.unread, query.bell, query.category, query.severity),
    )


async def count_unread(tx: Tx, caller: Principal) -> int:
    sql = f"select count(*) from notifications n where {_VISIBLE} and n.read_at is null"  # noqa: S608
    return int(await tx.value(sql, *_viewer(caller)))


async def mark_read(tx: Tx, caller: Principal, ids: Sequence[str] | None) -> int:
    """Mark the given notifications, or all if `ids` is None. Return how many were unread.

    A test credential marks only those of test mode: others may concern the account or a team.
    """
    return await tx.run(
        f"update notifications n set read_at = $6 where {_VISIBLE} and n.read_at is null"  # noqa: S608
        " and ($5::text[] is null or n.id = any($5)) and ($7 = 'live' or n.mode = 'test')",
        *_viewer(caller),
        None if ids is None else list(ids),
        tx.now,
        caller.mode,
    )


async def preferences(tx: Tx, account: str) -> list[Preference]:
    return await tx.all(
        Preference, "select category, email from notification_preferences where account_id = $1", account
    )


async def replace_preferences(tx: Tx, account: str, wanted: Sequence[Preference]) -> None:
    await tx.run("delete from notification_preferences where account_id = $1", account)
    await tx.run_many(
        "insert into notification_preferences (account_id, category, email) values ($1, $2, $3)",
        [(account, each.category, each.email) for each in wanted],
    )


async def disable_email(tx: Tx, account: str, categories: Sequence[str]) -> None:
    await tx.run(
        "insert into notification_preferences (account_id, category, email)"
        " select id, c, false from accounts cross join unnest($2::text[]) c where id = $1"
        " on conflict (account_id, category) do update set email = false",
        account,
        list(categories),
    )


async def recipients(tx: Tx, content: NotificationContent) -> list[tuple[str, bool]]:
    """The accounts that are notified, and whether each also gets an email. Test mode sends no email, and an
    address that is not verified gets none."""
    return await tx.all(
        lambda account, emailed: (account, emailed),
        """
        select r.id, $5 and coalesce(p.email, true) and a.email_verified_at is not null from (
          select $1::text as id where $2::text is null
          union all select m.account_id from team_members m where m.team_id = $2
          and m.role = any($3) and (m.expires_at is null or m.expires_at > $4)
        ) r join accounts a on a.id = r.id
        left join notification_preferences p on p.account_id = r.id and p.category = $6
        """,
        content.account_id,
        content.team_id,
        content.roles,
        tx.now,
        content.email and content.mode != "test",
        content.category,
    )


async def insert(tx: Tx, rows: Sequence[tuple[str, str, bool, NotificationContent]]) -> None:
    """Each row is an id, an account, whether an email is sent, and the content."""
    await tx.run_many(
        "insert into notifications (id, account_id, event_id, team_id, site_id, env_id, mode, type, category,"
        " severity, bell, title, body, payload, in_app, mail_wanted_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
        " on conflict do nothing",
        [
            (
                *(id_, account, each.event_id, each.team_id, each.site_id, each.env_id, each.mode),
                *(each.type, each.category, each.severity, each.bell, each.title, each.body, each.payload),
                *(each.in_app, tx.now if emailed else None, tx.now),
            )
            for id_, account, emailed, each in rows
        ],
    )


async def next_recipient(tx: Tx, pause: timedelta) -> tuple[str, str] | None:
    """The id and address of an account with notifications to send, whose last email is older than `pause`."""
    return await tx.one(
        lambda account, email: (account, email),
        """
        select a.id, a.email from accounts a where a.id = (
          select n.account_id from notifications n
          left join notification_mailings m on m.account_id = n.account_id
          where n.mail_wanted_at is not null and (m.sent_at is null or m.sent_at <= $1) limit 1
        ) for no key update skip locked
        """,
        tx.now - pause,
    )


async def claim_for_email(tx: Tx, account: str) -> list[DigestEntry]:
    """Take the notifications that are waiting to be sent, newest first. They no longer wait afterwards."""
    await tx.run(
        "insert into notification_mailings (account_id, sent_at) values ($1, $2)"
        " on conflict (account_id) do update set sent_at = $2",
        account,
        tx.now,
    )
    found = await tx.all(
        DigestEntry,
        "update notifications set mail_wanted_at = null where account_id = $1 and mail_wanted_at is not null"
        " returning id, category, severity, title, body, site_id, created_at",
        account,
    )
    return sorted(found, key=lambda each: each.id, reverse=True)


async def delete_before(tx: Tx, before: datetime, limit: int) -> int:
    return await tx.run(
        "delete from notifications where id in (select id from notifications where created_at < $1 limit $2)",
        before,
        limit,
    )
