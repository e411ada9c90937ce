"""Reading events, numbering them, and deleting old ones."""

from collections.abc import Sequence
from datetime import timedelta

from stead.control import metrics
from stead.control.engines.postgres import Tx
from stead.control.events import store
from stead.control.events.schema import EventFilter, EventView
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.metrics import COUNT_TO
from stead.control.outbox.event_types import EventCatalog
from stead.control.outbox.transports import Transport

RETENTION = timedelta(days=30)
BATCH_SIZE = 500


async def browse(tx: Tx, caller: Principal, query: EventFilter, page: PageRequest) -> Page[EventView]:
    return await store.page(tx, caller, query, page)


async def number_events(tx: Tx, transports: Sequence[Transport], catalog: EventCatalog) -> int:
    """Number the next committed events and pass them to every transport. Return how many there were."""
    events = await store.number_events(tx, BATCH_SIZE)
    if events:
        for transport in transports:
            await transport(tx, events, catalog)
    return len(events)


async def delete_expired(tx: Tx) -> int:
    return await store.delete_before(tx, tx.now - RETENTION, BATCH_SIZE)


async def measure(tx: Tx) -> None:
    waiting, oldest = await store.measure_unnumbered(tx, COUNT_TO)
    metrics.events_waiting.set(waiting)
    metrics.events_oldest_waiting.set(max(oldest, 0.0))
