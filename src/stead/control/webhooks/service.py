"""Managing endpoints, replaying deliveries, and creating deliveries from events."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from msgspec import UNSET

from stead.control import metrics
from stead.control.engines.postgres import Tx
from stead.control.http.examples import example
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Network, Principal
from stead.control.http.rate_limits import Limiter
from stead.control.metrics import COUNT_TO
from stead.control.outbox.event_pages import payload_schema
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType
from stead.control.outbox.events import About, publish
from stead.control.outbox.transports import PublishedEvent
from stead.control.plans import service as plans
from stead.control.sealing import Sealer
from stead.control.webhooks import queue, signing, store, urls
from stead.control.webhooks.events import (
    WEBHOOK_ENDPOINT_CHANGED,
    WEBHOOK_ENDPOINT_CREATED,
    WEBHOOK_ENDPOINT_DELETED,
    WEBHOOK_ENDPOINT_ROLLED,
    WEBHOOK_PING,
)
from stead.control.webhooks.rules import (
    EVERYTHING,
    ROLL_GRACE,
    DeliveryNotFound,
    EndpointIsDisabled,
    EndpointNotFound,
    UrlNotAllowed,
    VisibleDelivery,
    VisibleEndpoint,
)
from stead.control.webhooks.schema import (
    DeliveryView,
    EndpointChange,
    EndpointView,
    EventTypesView,
    EventTypeView,
    NewEndpoint,
)
from stead.shared.address_policy import AddressPolicy
from stead.shared.errors import FieldInvalid, RateLimitExceeded
from stead.shared.ids import EndpointId, has_shape, new_id

_BATCH_SIZE = 1000
PINGS_PER_MINUTE_AND_ENDPOINT = 5
PINGS_PER_MINUTE_AND_ACCOUNT = 20


async def visible_endpoint(call: Call, endpoint_id: str) -> VisibleEndpoint:
    endpoint = await store.find(call.tx, call.caller, endpoint_id) if has_shape("whe", endpoint_id) else None
    if endpoint is None:
        raise EndpointNotFound
    return endpoint


async def visible_delivery(call: Call, endpoint: VisibleEndpoint, delivery_id: str) -> VisibleDelivery:
    known = has_shape("whd", delivery_id)
    delivery = await store.find_delivery(call.tx, endpoint, delivery_id) if known else None
    if delivery is None:
        raise DeliveryNotFound
    return delivery


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[EndpointView]:
    return await store.page(tx, caller, page)


async def create(
    tx: Tx,
    sealer: Sealer,
    caller: Principal,
    new: NewEndpoint,
    networks: tuple[Network, ...],
    catalog: EventCatalog,
) -> tuple[EndpointView, str]:
    url, event_types = _url(new.url, networks), _event_types(new.event_types or [EVERYTHING], catalog)
    await plans.require_room_in_account(tx, caller.account_id, "webhook_endpoints")
    endpoint = EndpointView(
        id=new_id("whe"),
        url=url,
        event_types=event_types,
        description=new.description,
        enabled=True,
        disabled_reason=None,
        created_at=tx.now,
    )
    secret = signing.new_secret()
    await store.insert(tx, caller, endpoint, seal(sealer, endpoint.id, secret))
    await _publish(tx, WEBHOOK_ENDPOINT_CREATED, caller, endpoint.id)
    return endpoint, secret


async def change(
    tx: Tx,
    caller: Principal,
    endpoint: VisibleEndpoint,
    wanted: EndpointChange,
    networks: tuple[Network, ...],
    catalog: EventCatalog,
) -> VisibleEndpoint:
    endpoint = await _lock(tx, caller, endpoint)
    changed = replace(
        endpoint,
        url=endpoint.url if wanted.url is UNSET else _url(wanted.url, networks),
        event_types=(
            endpoint.event_types if wanted.event_types is UNSET else _event_types(wanted.event_types, catalog)
        ),
        description=endpoint.description if wanted.description is UNSET else wanted.description,
        enabled=endpoint.enabled if wanted.enabled is UNSET else wanted.enabled,
    )
    if changed.enabled:
        changed = replace(changed, disabled_reason=None)
    await store.update(tx, changed)
    await _publish(tx, WEBHOOK_ENDPOINT_CHANGED, caller, endpoint.id)
    return changed


async def roll(tx: Tx, sealer: Sealer, caller: Principal, endpoint: VisibleEndpoint) -> str:
    """Return the new secret. For 24 hours both secrets sign, so that receivers can switch without a gap."""
    endpoint = await _lock(tx, caller, endpoint)
    secret = signing.new_secret()
    await store.replace_secret(tx, endpoint, seal(sealer, endpoint.id, secret), tx.now + ROLL_GRACE)
    await _publish(tx, WEBHOOK_ENDPOINT_ROLLED, caller, endpoint.id)
    return secret


async def delete(tx: Tx, caller: Principal, endpoint: VisibleEndpoint) -> None:
    await store.delete(tx, await _lock(tx, caller, endpoint))
    await _publish(tx, WEBHOOK_ENDPOINT_DELETED, caller, endpoint.id)


async def browse_deliveries(tx: Tx, endpoint: VisibleEndpoint, page: PageRequest) -> Page[DeliveryView]:
    return await store.page_of_deliveries(tx, endpoint, page)


async def replay(tx: Tx, delivery: VisibleDelivery) -> DeliveryView:
    if not await store.is_enabled(tx, delivery.endpoint_id):
        raise EndpointIsDisabled
    replayed = await store.replay(tx, delivery)
    if replayed is None:
        raise DeliveryNotFound
    return replayed


async def limit_pings(limiter: Limiter, caller: Principal, endpoint: VisibleEndpoint) -> None:
    """The receiver may belong to somebody else, who has not asked for these requests."""
    wait = await limiter.spend_anonymous(
        (f"ping:to:{endpoint.id}", PINGS_PER_MINUTE_AND_ENDPOINT),
        (f"ping:of:{caller.account_id}", PINGS_PER_MINUTE_AND_ACCOUNT),
    )
    if wait:
        raise RateLimitExceeded(seconds=wait)


async def ping(tx: Tx, caller: Principal, endpoint: VisibleEndpoint) -> DeliveryView:
    """Send a test event to the endpoint, whatever it subscribes to."""
    if not await store.is_enabled(tx, endpoint.id):
        raise EndpointIsDisabled
    about = About(account_id=caller.account_id)
    event = await publish(tx, WEBHOOK_PING, about, endpoint_id=endpoint.id)
    delivery = await store.view_delivery(tx, endpoint, await store.insert_delivery(tx, endpoint, event))
    if delivery is None:
        raise DeliveryNotFound
    return delivery


async def receive_events(tx: Tx, events: Sequence[PublishedEvent], catalog: EventCatalog) -> None:
    """Create a delivery for every endpoint that subscribes to an event and whose account may read it.

    A test event has its delivery already.
    """
    events = [event for event in events if event.type != WEBHOOK_PING.type]
    await queue.insert_deliveries(tx, events, [_category(event.type, catalog) for event in events])


async def clean_up(tx: Tx) -> int:
    """Fail deliveries to disabled endpoints and remove deleted endpoints. Return how many rows changed."""
    failed = await queue.fail_deliveries_to_disabled(tx, _BATCH_SIZE)
    return failed + await queue.purge_deleted(tx, _BATCH_SIZE)


def event_types(catalog: EventCatalog) -> EventTypesView:
    return EventTypesView([_type_view(event) for event in catalog.values()])


def seal(sealer: Sealer, endpoint: str, secret: str) -> bytes:
    return sealer.seal(secret.encode(), context=secret_context(endpoint))


def unseal(sealer: Sealer, endpoint: str, sealed: bytes) -> str:
    return sealer.open(sealed, context=secret_context(endpoint)).decode()


def secret_context(endpoint: str) -> bytes:
    return b"webhook " + endpoint.encode()


def _category(type_: str, catalog: EventCatalog) -> str:
    """A newer process may have published a type that this one does not know. Its name starts with the
    category."""
    known = catalog.get(type_)
    return known.category if known else type_.partition(".")[0]


@cache
def _type_view(event: EventType) -> EventTypeView:
    return EventTypeView(
        type=event.type,
        category=event.category,
        title=event.title,
        severity=event.severity,
        in_app=event.in_app,
        email=event.email,
        schema=payload_schema(event),
        example=example(event.data) if event.data else {},
    )


async def _lock(tx: Tx, caller: Principal, endpoint: VisibleEndpoint) -> VisibleEndpoint:
    found = await store.lock(tx, caller, endpoint)
    if found is None:
        raise EndpointNotFound
    return found


async def _publish(tx: Tx, event: EventType, caller: Principal, endpoint: str) -> None:
    about = About(account_id=caller.account_id)
    await publish(tx, event, about, endpoint_id=EndpointId(endpoint))


def _url(text: str, networks: tuple[Network, ...]) -> str:
    try:
        target = urls.parse_target(text)
    except urls.InvalidUrl as reason:
        raise UrlNotAllowed(param="url", reason=str(reason)) from None
    if target.literal is not None and not AddressPolicy(networks).permits(target.literal):
        raise UrlNotAllowed(param="url", reason="its address is not public.")
    return target.url


def _event_types(wanted: list[str], catalog: EventCatalog) -> list[str]:
    known = {EVERYTHING, *catalog, *(f"category:{category}" for category in CATEGORIES)}
    for index, each in enumerate(wanted):
        if each not in known:
            raise FieldInvalid(param=f"event_types.{index}", reason="There is no such event type.")
    return list(dict.fromkeys(wanted))


async def measure(tx: Tx) -> None:
    metrics.webhooks_waiting.set(await queue.count_pending(tx, COUNT_TO))
    due = await queue.oldest_due(tx)
    metrics.webhooks_oldest_due.set((tx.now - due).total_seconds() if due else 0.0)
