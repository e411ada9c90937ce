"""HTTP operations on webhook endpoints and their deliveries."""

from msgspec.structs import asdict

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.plans.rules import EndpointsExhausted
from stead.control.webhooks import service
from stead.control.webhooks.rules import (
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
    NewEndpoint,
    RevealedEndpointView,
)
from stead.shared.errors import RateLimitExceeded

operation = Operations(tag="Webhooks")


@operation("GET /v1/webhook-endpoints", id="webhook_endpoints.list", scope="webhooks:read")
async def list_endpoints(call: Call, page: PageRequest) -> Page[EndpointView]:
    """List the endpoints of the account, newest first, without their secrets."""
    return await service.browse(call.tx, call.caller, page)


@operation(
    "POST /v1/webhook-endpoints",
    id="webhook_endpoints.create",
    scope="webhooks:write",
    test_keys=True,
    status=201,
    errors=[UrlNotAllowed, EndpointsExhausted],
)
async def create_endpoint(call: Call, body: NewEndpoint) -> RevealedEndpointView:
    """Create an endpoint. Only this response contains the secret that signs its deliveries.

    The endpoint receives the events that this credential can read, within its pin and mode.
    """
    endpoint, secret = await service.create(
        call.tx, call.sealer, call.caller, body, call.context.webhook_networks, call.context.event_catalog
    )
    call.audit.note(endpoint_id=endpoint.id)
    return RevealedEndpointView(**asdict(endpoint), secret=secret)


@operation("GET /v1/webhook-endpoints/event-types", id="webhook_endpoints.event_types", scope="webhooks:read")
async def list_event_types(call: Call) -> EventTypesView:
    """List all event types, with the schema and an example of `data`."""
    return service.event_types(call.context.event_catalog)


@operation(
    "GET /v1/webhook-endpoints/{endpoint_id}",
    id="webhook_endpoints.get",
    scope="webhooks:read",
    errors=[EndpointNotFound],
)
async def get_endpoint(call: Call, endpoint: VisibleEndpoint) -> EndpointView:  # noqa: ARG001 - handlers take a call
    """Read an endpoint, without its secret."""
    return _view(endpoint)


@operation(
    "PATCH /v1/webhook-endpoints/{endpoint_id}",
    id="webhook_endpoints.update",
    scope="webhooks:write",
    errors=[EndpointNotFound, UrlNotAllowed],
)
async def update_endpoint(call: Call, endpoint: VisibleEndpoint, body: EndpointChange) -> EndpointView:
    """Change an endpoint. `event_types` replaces the whole list.

    Pending deliveries of a disabled endpoint fail. They can be replayed when the endpoint is enabled again.
    """
    changed = await service.change(
        call.tx, call.caller, endpoint, body, call.context.webhook_networks, call.context.event_catalog
    )
    return _view(changed)


@operation(
    "DELETE /v1/webhook-endpoints/{endpoint_id}",
    id="webhook_endpoints.delete",
    recent_sign_in=True,
    scope="webhooks:write",
    errors=[EndpointNotFound],
)
async def delete_endpoint(call: Call, endpoint: VisibleEndpoint) -> None:
    """Delete an endpoint. It receives no more deliveries."""
    await service.delete(call.tx, call.caller, endpoint)


@operation(
    "POST /v1/webhook-endpoints/{endpoint_id}/roll",
    id="webhook_endpoints.roll",
    recent_sign_in=True,
    destructive="irreversible",
    scope="webhooks:write",
    errors=[EndpointNotFound],
)
async def roll_endpoint(call: Call, endpoint: VisibleEndpoint) -> RevealedEndpointView:
    """Replace the secret of an endpoint. For 24 hours deliveries are signed with both secrets.

    Only this response contains the new secret.
    """
    secret = await service.roll(call.tx, call.sealer, call.caller, endpoint)
    return RevealedEndpointView(**asdict(_view(endpoint)), secret=secret)


@operation(
    "POST /v1/webhook-endpoints/{endpoint_id}/ping",
    id="webhook_endpoints.ping",
    scope="webhooks:write",
    status=202,
    errors=[EndpointNotFound, EndpointIsDisabled, RateLimitExceeded],
)
async def ping_endpoint(call: Call, endpoint: VisibleEndpoint) -> DeliveryView:
    """Send a test event, `webhook.ping`, to an endpoint, whatever it subscribes to.

    It is signed, repeated and logged like any other delivery: read its outcome in the deliveries of the
    endpoint. An endpoint gets at most 5 a minute, all endpoints of an account together at most 20.
    """
    await service.limit_pings(call.limiter, call.caller, endpoint)
    call.audit.note(endpoint_id=endpoint.id)
    return await service.ping(call.tx, call.caller, endpoint)


@operation(
    "GET /v1/webhook-endpoints/{endpoint_id}/deliveries",
    id="webhook_deliveries.list",
    scope="webhooks:read",
    errors=[EndpointNotFound],
)
async def list_deliveries(call: Call, endpoint: VisibleEndpoint, page: PageRequest) -> Page[DeliveryView]:
    """List the deliveries of the last 30 days, newest first, with their attempts."""
    return await service.browse_deliveries(call.tx, endpoint, page)


@operation(
    "POST /v1/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay",
    id="webhook_deliveries.replay",
    scope="webhooks:write",
    status=202,
    errors=[EndpointNotFound, DeliveryNotFound, EndpointIsDisabled],
)
async def replay_delivery(call: Call, endpoint: VisibleEndpoint, delivery: VisibleDelivery) -> DeliveryView:
    """Send a delivery again, with the same id and body and a new signature."""
    call.audit.note(endpoint_id=endpoint.id, delivery_id=delivery.id)
    return await service.replay(call.tx, delivery)


def _view(endpoint: VisibleEndpoint) -> EndpointView:
    return EndpointView(
        id=endpoint.id,
        url=endpoint.url,
        event_types=endpoint.event_types,
        description=endpoint.description,
        enabled=endpoint.enabled,
        disabled_reason=endpoint.disabled_reason,
        created_at=endpoint.created_at,
    )
