"""Reading events, and taking them out of the outbox."""

from collections.abc import Sequence
from datetime import timedelta

from stead.control.engines.postgres import Tx
from stead.control.events import store
from stead.control.events.schema import EventFilter, EventView
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.outbox.event_types import EventCatalog
from stead.control.outbox.transports import Transport

RETENTION = timedelta(days=30)
AT_ONCE = 500


async def browse(tx: Tx, caller: Principal, query: EventFilter, page: PageRequest) -> Page[EventView]:
    return await store.page(tx, caller, query, page)


async def hand_on(tx: Tx, transports: Sequence[Transport], catalog: EventCatalog) -> int:
    """Number what has committed and give it to every transport. How many there were."""
    events = await store.number(tx, AT_ONCE)
    if events:
        for transport in transports:
            await transport(tx, events, catalog)
    return len(events)


async def forget_old(tx: Tx) -> int:
    return await store.forget(tx, tx.now - RETENTION, AT_ONCE)
