"""Event types of webhook endpoints."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload

_EndpointId = Annotated[str, Meta(examples=["whe_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class EndpointPayload(Payload):
    endpoint_id: _EndpointId


class EndpointDisabled(Payload):
    endpoint_id: _EndpointId
    reason: Annotated[str, Meta(examples=["It answered 410 Gone."])]


WEBHOOK_ENDPOINT_CREATED = EventType(
    "webhook.endpoint_created", "webhook", "A webhook endpoint was created", data=EndpointPayload
)
WEBHOOK_ENDPOINT_CHANGED = EventType(
    "webhook.endpoint_changed", "webhook", "A webhook endpoint was changed", data=EndpointPayload
)
WEBHOOK_ENDPOINT_ROLLED = EventType(
    "webhook.endpoint_rolled",
    "webhook",
    "The secret of a webhook endpoint was replaced",
    data=EndpointPayload,
)
WEBHOOK_ENDPOINT_DELETED = EventType(
    "webhook.endpoint_deleted", "webhook", "A webhook endpoint was deleted", data=EndpointPayload
)
WEBHOOK_PING = EventType(
    "webhook.ping", "webhook", "A test event was sent to a webhook endpoint", data=EndpointPayload
)
"""Delivered only to the endpoint that it names, whatever that subscribes to."""
WEBHOOK_ENDPOINT_DISABLED = EventType(
    "webhook.endpoint_disabled",
    "webhook",
    "A webhook endpoint was disabled",
    "error",
    data=EndpointDisabled,
    in_app=True,
    email=True,
    text="The endpoint {endpoint_id} no longer receives deliveries. {reason}",
)
