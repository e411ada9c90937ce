"""The JSON shapes of webhook endpoints, deliveries and event types."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.outbox.event_types import Category, Severity
from stead.control.webhooks.rules import DeliveryStatus
from stead.shared.sensitive import SENSITIVE

EndpointIdText = Annotated[str, Meta(examples=["whe_01k9zy3v7d00r3m8w5x2t6b4qa"])]
Url = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="HTTPS, port 443 or 8443, publicly reachable.",
        examples=["https://hooks.example.com/stead"],
    ),
]
EventTypes = Annotated[
    list[Annotated[str, Meta(max_length=100)]],
    Meta(
        min_length=1,
        max_length=100,
        description="`*`, event types, or `category:<name>` for all current and future types of a category.",
        examples=[["deploy.completed", "category:security"]],
    ),
]
Description = Annotated[str, Meta(max_length=500, examples=["tells the chat"])]
SecretText = Annotated[
    str,
    Meta(
        description="The secret that signs deliveries. Shown only once.",
        examples=["whsec_aGVyZSBhcmUgMzIgcmFuZG9tIGJ5dGVzIG9mIHlvdXI="],
        extra_json_schema=SENSITIVE,
    ),
]


class EndpointView(Struct):
    id: EndpointIdText
    url: Url
    event_types: EventTypes
    description: Description | None
    enabled: bool
    disabled_reason: Annotated[
        str | None, Meta(description="Why the endpoint was disabled automatically.", examples=[None])
    ]
    created_at: datetime


class NewEndpoint(Struct, forbid_unknown_fields=True):
    url: Url
    event_types: Annotated[EventTypes | None, Meta(description='The default is `["*"]`.')] = None
    description: Description | None = None


class EndpointChange(Struct, forbid_unknown_fields=True):
    url: Url | UnsetType = UNSET
    event_types: EventTypes | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET


class RevealedEndpointView(EndpointView, kw_only=True):
    secret: SecretText


class AttemptView(Struct):
    """One attempt of a delivery."""

    at: datetime
    status: Annotated[
        int | None, Meta(description="The HTTP status; null if there was no response.", examples=[503])
    ]
    duration_ms: Annotated[int, Meta(examples=[41])]
    error: Annotated[str | None, Meta(examples=["The answer was 503."])]
    excerpt: Annotated[
        str | None, Meta(description="The beginning of the response body.", examples=["try later"])
    ]


class DeliveryView(Struct):
    id: Annotated[str, Meta(examples=["whd_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    event_id: Annotated[str, Meta(examples=["evt_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    status: DeliveryStatus
    attempts: Annotated[int, Meta(examples=[1])]
    response_status: Annotated[int | None, Meta(examples=[503])]
    last_error: Annotated[str | None, Meta(examples=["The answer was 503."])]
    created_at: datetime
    delivered_at: Annotated[datetime | None, Meta(examples=[None])]
    next_attempt_at: datetime | None
    log: Annotated[list[AttemptView], Meta(description="The most recent attempts, oldest first.")]


class EventTypeView(Struct):
    type: Annotated[str, Meta(examples=["deploy.completed"])]
    category: Annotated[Category, Meta(examples=["deploy"])]
    title: Annotated[str, Meta(examples=["A deployment is live"])]
    severity: Annotated[Severity, Meta(examples=["info"])]
    in_app: Annotated[bool, Meta(description="Whether the event creates a notification.")]
    email: Annotated[
        bool, Meta(description="Whether the notification is also sent by email.", examples=[False])
    ]
    schema: Annotated[
        dict[str, Any], Meta(description="JSON Schema of `data`.", examples=[{"type": "object"}])
    ]
    example: Annotated[
        dict[str, Any], Meta(description="An example of `data`.", examples=[{"domain": "example.com"}])
    ]


class EventTypesView(Struct):
    event_types: list[EventTypeView]


class Envelope(Struct):
    """The body of a delivery."""

    id: Annotated[str, Meta(examples=["evt_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["deploy.completed"])]
    site_id: Annotated[str | None, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    env_id: Annotated[str | None, Meta(examples=[None])]
    created_at: datetime
    data: Annotated[dict[str, Any], Meta(examples=[{"domain": "example.com"}])]
