"""Reading and marking notifications, preferences, and taking events over from the outbox."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.notifications import store
from stead.control.notifications.rules import RETENTION, TOLD
from stead.control.notifications.schema import (
    Marking,
    NotificationFilter,
    NotificationView,
    Preference,
    Preferences,
)
from stead.control.notifications.store import Told
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType
from stead.control.outbox.transports import PublishedEvent
from stead.shared.errors import FieldInvalid
from stead.shared.ids import new_id

_AT_ONCE = 1000


async def browse(
    tx: Tx, caller: Principal, query: NotificationFilter, page: PageRequest
) -> Page[NotificationView]:
    return await store.page(tx, caller, query, page)


async def unread(tx: Tx, caller: Principal) -> int:
    return await store.unread(tx, caller)


async def mark_read(tx: Tx, caller: Principal, wanted: Marking) -> int:
    if wanted.ids is UNSET and wanted.all is UNSET:
        raise FieldInvalid(param="ids", reason="Send `ids` or `all`.")
    if wanted.all is True:
        return await store.mark_read(tx, caller, None)
    return await store.mark_read(tx, caller, wanted.ids) if isinstance(wanted.ids, list) else 0


async def preferences(tx: Tx, caller: Principal) -> list[Preference]:
    """One for every category; mail is on unless it was switched off."""
    chosen = {each.category: each.email for each in await store.preferences(tx, caller.account_id)}
    return [Preference(category, chosen.get(category, True)) for category in CATEGORIES]


async def replace_preferences(tx: Tx, caller: Principal, wanted: Preferences) -> list[Preference]:
    categories = [each.category for each in wanted.preferences]
    if len(set(categories)) < len(categories):
        raise FieldInvalid(param="preferences", reason="A category is named twice.")
    await store.replace_preferences(tx, caller.account_id, wanted.preferences)
    return await preferences(tx, caller)


async def stop_mail(tx: Tx, account: str, categories: Sequence[str]) -> None:
    await store.stop_mail(tx, account, [each for each in categories if each in CATEGORIES])


async def take_over(tx: Tx, events: Sequence[PublishedEvent], catalog: EventCatalog) -> None:
    """A notification for everybody whom an event concerns, where its type says that people are told."""
    rows = []
    for event in events:
        known = catalog.get(event.type)
        if known is None or not (known.in_app or known.email):
            continue
        told = _told(event, known)
        rows += [(new_id("ntf"), account, mailed, told) for account, mailed in await store.readers(tx, told)]
    if rows:
        await store.insert(tx, rows)


async def forget_old(tx: Tx) -> int:
    return await store.forget(tx, tx.now - RETENTION, _AT_ONCE)


def _told(event: PublishedEvent, known: EventType) -> Told:
    return Told(
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
        roles=TOLD[known.audience],
    )


def body_of(known: EventType, data: dict[str, Any]) -> str:
    """The type's text, filled in; what an older event does not say is left out."""
    if not known.text:
        return known.title
    fields: list[str] = [each.name for each in msgspec.structs.fields(known.data)] if known.data else []
    facts = {name: data.get(name) for name in fields}
    return known.text.format_map({name: "–" if value is None else value for name, value in facts.items()})
