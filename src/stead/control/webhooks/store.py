"""Queries of endpoints and deliveries for API callers."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.webhooks.rules import READS_EVENTS, VisibleDelivery, VisibleEndpoint
from stead.control.webhooks.schema import DeliveryView, EndpointView
from stead.shared.ids import EndpointId, new_id

_VIEW = ", ".join(f"w.{field}" for field in EndpointView.__struct_fields__)
_ENDPOINT = ", ".join(f"w.{field}" for field in VisibleEndpoint.__dataclass_fields__)
_DELIVERY = ", ".join(f"d.{field}" for field in DeliveryView.__struct_fields__)
_VISIBLE = """
  from webhook_endpoints w where w.account_id = $1 and w.deleted_at is null
  and ($2 = 'live' or w.mode = 'test')
  and ($3::text is null or ($3 = w.pin_type and $4 = w.pin_id))
"""


def _viewer(caller: Principal) -> tuple[object, ...]:
    return caller.account_id, caller.mode, caller.pin_type, caller.pin_id


async def find(tx: Tx, caller: Principal, endpoint: str) -> VisibleEndpoint | None:
    return await tx.one(
        VisibleEndpoint, f"select {_ENDPOINT} {_VISIBLE} and w.id = $5", *_viewer(caller), endpoint
    )


async def page(tx: Tx, caller: Principal, request: PageRequest) -> Page[EndpointView]:
    return await request.fetch(
        tx,
        EndpointView,
        f"select {_VIEW} {_VISIBLE} and w.id < $5 order by w.id desc limit $6",
        *_viewer(caller),
    )


async def insert(tx: Tx, caller: Principal, endpoint: EndpointView, sealed: bytes) -> None:
    """The endpoint takes over the pin and mode of the caller."""
    await tx.run(
        "insert into webhook_endpoints (id, account_id, mode, pin_type, pin_id, url, event_types,"
        " description, secret, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        *(endpoint.id, caller.account_id, caller.mode, caller.pin_type, caller.pin_id, endpoint.url),
        *(endpoint.event_types, endpoint.description, sealed, endpoint.created_at),
    )


async def lock(tx: Tx, caller: Principal, endpoint: VisibleEndpoint) -> VisibleEndpoint | None:
    """Lock the endpoint and return its current state."""
    await tx.value("select id from webhook_endpoints where id = $1 for update", endpoint.id)
    return await find(tx, caller, endpoint.id)


async def update(tx: Tx, endpoint: VisibleEndpoint) -> None:
    """Enabling or disabling an endpoint resets its failure period."""
    await tx.run(
        "update webhook_endpoints set url = $2, event_types = $3, description = $4, enabled = $5,"
        " failing_since = case when enabled = $5 then failing_since end,"
        " disabled_reason = case when $5 then null else disabled_reason end where id = $1",
        *(endpoint.id, endpoint.url, endpoint.event_types, endpoint.description, endpoint.enabled),
    )


async def replace_secret(tx: Tx, endpoint: VisibleEndpoint, sealed: bytes, until: datetime) -> None:
    """The current secret stays valid until then. The one of an earlier roll becomes invalid immediately."""
    await tx.run(
        "update webhook_endpoints set previous_secret = secret, previous_until = $3, secret = $2"
        " where id = $1",
        *(endpoint.id, sealed, until),
    )


async def delete(tx: Tx, endpoint: VisibleEndpoint) -> None:
    """Mark the endpoint as deleted. A periodic task deletes the rows."""
    await tx.run(
        "update webhook_endpoints set deleted_at = $2, enabled = false where id = $1", endpoint.id, tx.now
    )


def _delivery_view(*row: object) -> DeliveryView:
    return DeliveryView(*row)  # type: ignore[arg-type]


async def page_of_deliveries(tx: Tx, endpoint: VisibleEndpoint, request: PageRequest) -> Page[DeliveryView]:
    return await request.fetch(
        tx,
        _delivery_view,
        f"select {_DELIVERY} from webhook_deliveries d where d.endpoint_id = $1 and d.id < $2"  # noqa: S608
        " order by d.id desc limit $3",
        endpoint.id,
    )


async def find_delivery(tx: Tx, endpoint: VisibleEndpoint, delivery: str) -> VisibleDelivery | None:
    """Find a delivery whose event the account may still read."""
    return await tx.one(
        VisibleDelivery,
        "select d.id, d.endpoint_id from webhook_deliveries d join events e on e.id = d.event_id"
        " where d.endpoint_id = $1 and d.id = $2 and (e.account_id = $3 or exists ("
        " select from team_members m where m.team_id = e.team_id and m.account_id = $3"
        " and m.role = any($4) and (m.expires_at is null or m.expires_at > $5)))",
        *(endpoint.id, delivery, endpoint.account_id, READS_EVENTS, tx.now),
    )


async def replay(tx: Tx, delivery: VisibleDelivery) -> DeliveryView | None:
    """Make the delivery due again. The new claim number makes the result of a running attempt invalid."""
    return await tx.one(
        _delivery_view,
        "update webhook_deliveries d set status = 'pending', attempts = 0, claim = claim + 1,"  # noqa: S608
        f" next_attempt_at = $2, delivered_at = null where d.id = $1 returning {_DELIVERY}",
        delivery.id,
        tx.now,
    )


async def insert_delivery(tx: Tx, endpoint: VisibleEndpoint, event: str) -> str:
    """A delivery that is due at once. Returns its id."""
    delivery = new_id("whd")
    await tx.run(
        "insert into webhook_deliveries (id, event_id, endpoint_id, created_at, next_attempt_at)"
        " values ($1, $2, $3, $4, $4)",
        *(delivery, event, endpoint.id, tx.now),
    )
    return delivery


async def view_delivery(tx: Tx, endpoint: VisibleEndpoint, delivery: str) -> DeliveryView | None:
    return await tx.one(
        _delivery_view,
        f"select {_DELIVERY} from webhook_deliveries d where d.endpoint_id = $1 and d.id = $2",  # noqa: S608
        *(endpoint.id, delivery),
    )


async def is_enabled(tx: Tx, endpoint: EndpointId) -> bool:
    return bool(await tx.value("select enabled from webhook_endpoints where id = $1 for share", endpoint))
