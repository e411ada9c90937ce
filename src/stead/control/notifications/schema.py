"""The JSON shapes of notifications and their preferences."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.notifications.rules import MOST_MARKED
from stead.control.outbox.event_types import CATEGORIES, Category, Severity


class NotificationFilter(Struct):
    unread: Annotated[bool | None, Meta(description="Only unread ones, or only read ones.")] = None
    bell: Annotated[bool | None, Meta(description="Only those that ring, or only the others.")] = None
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
    """One of the two."""

    ids: (
        Annotated[
            list[Annotated[str, Meta(max_length=64)]],
            Meta(max_length=MOST_MARKED, examples=[["ntf_01k9zy3v7d00r3m8w5x2t6b4qa"]]),
        ]
        | UnsetType
    ) = UNSET
    all: (
        Annotated[bool, Meta(description="Every one that this credential sees, whatever `ids` says.")]
        | UnsetType
    ) = UNSET


class MarkedView(Struct):
    updated: Annotated[int, Meta(description="How many were unread until now.", examples=[1])]


class Preference(Struct, forbid_unknown_fields=True):
    category: Annotated[Category, Meta(examples=["deploy"])]
    email: Annotated[bool, Meta(description="Whether such notifications are mailed, too.", examples=[False])]


class Preferences(Struct, forbid_unknown_fields=True):
    preferences: Annotated[
        list[Preference],
        Meta(max_length=len(CATEGORIES), description="Categories that are not named are mailed."),
    ]


class PreferencesView(Struct):
    preferences: list[Preference]
