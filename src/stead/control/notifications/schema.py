"""The JSON shapes of notifications and their preferences."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.notifications.rules import MAX_MARKED
from stead.control.outbox.event_types import CATEGORIES, Category, Severity


class NotificationFilter(Struct):
    unread: Annotated[
        bool | None, Meta(description="Only unread notifications (true) or only read ones (false).")
    ] = None
    bell: Annotated[
        bool | None, Meta(description="Only highlighted notifications (true) or only the others (false).")
    ] = None
    category: Annotated[str | None, Meta(description="Only this category.")] = None
    severity: Annotated[Severity | None, Meta(description="Only this severity.")] = None


class NotificationView(Struct):
    id: Annotated[str, Meta(examples=["ntf_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["deploy.failed"])]
    category: Annotated[str, Meta(examples=["deploy"])]
    severity: Annotated[Severity, Meta(examples=["error"])]
    site_id: Annotated[str | None, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    title: Annotated[str, Meta(examples=["A deployment failed"])]
    body: Annotated[str, Meta(examples=["The deployment of example.com failed: it did not answer."])]
    payload: Annotated[
        dict[str, Any], Meta(description="`data` of the event.", examples=[{"domain": "example.com"}])
    ]
    read_at: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime


class UnreadView(Struct):
    unread: Annotated[int, Meta(examples=[3])]


class Marking(Struct, forbid_unknown_fields=True):
    """Send `ids` or `all`."""

    ids: (
        Annotated[
            list[Annotated[str, Meta(max_length=64)]],
            Meta(max_length=MAX_MARKED, examples=[["ntf_01k9zy3v7d00r3m8w5x2t6b4qa"]]),
        ]
        | UnsetType
    ) = UNSET
    all: (
        Annotated[
            bool, Meta(description="Mark every notification that this credential can see; `ids` is ignored.")
        ]
        | UnsetType
    ) = UNSET


class MarkedView(Struct):
    updated: Annotated[int, Meta(description="How many notifications were unread before.", examples=[1])]


class Preference(Struct, forbid_unknown_fields=True):
    category: Annotated[Category, Meta(examples=["deploy"])]
    email: Annotated[
        bool,
        Meta(description="Whether notifications of this category are also sent by email.", examples=[False]),
    ]


class NewPreferences(Struct, forbid_unknown_fields=True):
    preferences: Annotated[
        list[Preference],
        Meta(max_length=len(CATEGORIES), description="Email is on for categories that are not listed."),
    ]


class PreferencesView(Struct):
    preferences: list[Preference]
