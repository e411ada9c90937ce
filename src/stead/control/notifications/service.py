"""Reading and marking notifications, email preferences, and creating notifications from events."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.notifications import store
from stead.control.notifications.rules import RETENTION, ROLES_BY_AUDIENCE
from stead.control.notifications.schema import (
    Marking,
    NewPreferences,
    NotificationFilter,
    NotificationView,
    Preference,
)
from stead.control.notifications.store import NotificationContent
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType
from stead.control.outbox.transports import PublishedEvent
from stead.shared.errors import FieldInvalid
from stead.shared.ids import new_id

_BATCH_SIZE = 1000


async def browse(
    tx: Tx, caller: Principal, query: NotificationFilter, page: PageRequest
) -> Page[NotificationView]:
    return await store.page(tx, caller, query, page)


async def count_unread(tx: Tx, caller: Principal) -> int:
    return await store.count_unread(tx, caller)


async def mark_read(tx: Tx, caller: Principal, wanted: Marking) -> int:
    if wanted.ids is UNSET and wanted.all is UNSET:
        raise FieldInvalid(param="ids", reason="Send `ids` or `all`.")
    if wanted.all is True:
        return await store.mark_read(tx, caller, None)
    return await store.mark_read(tx, caller, wanted.ids) if isinstance(wanted.ids, list) else 0


async def preferences(tx: Tx, caller: Principal) -> list[Preference]:
    """One entry per category. Email is on unless the account switched it off."""
    chosen = {each.category: each.email for each in await store.preferences(tx, caller.account_id)}
    return [Preference(category, chosen.get(category, True)) for category in CATEGORIES]


async def replace_preferences(tx: Tx, caller: Principal, wanted: NewPreferences) -> list[Preference]:
    categories = [each.category for each in wanted.preferences]
    if len(set(categories)) < len(categories):
        raise FieldInvalid(param="preferences", reason="A category is named twice.")
    await store.replace_preferences(tx, caller.account_id, wanted.preferences)
    return await preferences(tx, caller)


async def disable_email(tx: Tx, account: str, categories: Sequence[str]) -> None:
    await store.disable_email(tx, account, [each for each in categories if each in CATEGORIES])


async def receive_events(tx: Tx, events: Sequence[PublishedEvent], catalog: EventCatalog) -> None:
    """Create a notification of each event for every recipient, if the type of the event wants one."""
    rows = []
    for event in events:
        known = catalog.get(event.type)
        if known is None or not (known.in_app or known.email):
            continue
        content = _content(event, known)
        recipients = await store.recipients(tx, content)
        rows += [(new_id("ntf"), account, emailed, content) for account, emailed in recipients]
    if rows:
        await store.insert(tx, rows)


async def delete_expired(tx: Tx) -> int:
    return await store.delete_before(tx, tx.now - RETENTION, _BATCH_SIZE)


def _content(event: PublishedEvent, known: EventType) -> NotificationContent:
    return NotificationContent(
        event_id=event.id,
        account_id=event.account_id,
        team_id=event.team_id,
        site_id=event.site_id,
        env_id=event.env_id,
        mode=event.mode,
        type=known.type,
        category=known.category,
        severity=known.severity,
        bell=known.bell,
        title=known.title,
        body=body_of(known, event.data),
        payload=event.data,
        in_app=known.in_app,
        email=known.email,
        roles=ROLES_BY_AUDIENCE[known.audience],
    )


def body_of(known: EventType, data: dict[str, Any]) -> str:
    """Fill in the text of the type. A field that an older event does not have becomes a dash."""
    if not known.text:
        return known.title
    fields: list[str] = [each.name for each in msgspec.structs.fields(known.data)] if known.data else []
    values = {name: data.get(name) for name in fields}
    return known.text.format_map({name: "–" if value is None else value for name, value in values.items()})
