"""The vocabulary of event types, and the catalog of all of them.

Every feature declares its own types in `<feature>/events.py` and lists them in its `Feature`. The event feed,
webhooks, notifications, the documentation and the JSON Schemas read the catalog.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

Severity = Literal["info", "warning", "error", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
Category = Literal[
    "deploy",
    "build",
    "environment",
    "site",
    "backup",
    "security",
    "function",
    "job",
    "team",
    "webhook",
    "billing",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Audience = Literal["sees_sites", "admins", "billing"]

Domain = Annotated[str, Meta(examples=["example.com"])]
Reason = Annotated[
    str | None, Meta(description="Why, in a sentence.", examples=["The site did not answer as it should."])
]
Status = Annotated[str, Meta(examples=["running"])]
ArtifactId = Annotated[str | None, Meta(examples=["art_01k9zy3v7d00r3m8w5x2t6b4qa"])]
Ref = Annotated[str | None, Meta(examples=["main"])]
Commit = Annotated[str | None, Meta(examples=["9fceb02d0ae598e95dc970b74767f19372d61af8"])]


class Payload(Struct, forbid_unknown_fields=True):
    """`data` of an event. Published data must match it. Fields may be added, never changed or removed."""


PayloadType = type[Payload]


class SitePayload(Payload):
    domain: Domain


class SiteFailure(Payload):
    domain: Domain
    reason: Reason = None


class EventType(Struct, frozen=True):
    """One type of event. `in_app` and `email` say how people are notified; `text` is the message they read,
    with the fields of the payload filled in."""

    type: str
    category: Category
    title: str
    severity: Severity = "info"
    data: PayloadType | None = None
    in_app: bool = False
    email: bool = False
    text: str = ""
    audience: Audience = "sees_sites"
    """Which members of a team are notified."""

    @property
    def bell(self) -> bool:
        """Whether the notification is highlighted: warnings and worse, and every deployment."""
        return self.severity != "info" or self.category == "deploy"

    @property
    def selectors(self) -> list[str]:
        """Every selector that subscribes a webhook endpoint to this type."""
        return ["*", self.type, f"category:{self.category}"]


class EventCatalog(Mapping[str, EventType]):
    """Every event type by its name, grouped by category and by the resource in the name."""

    def __init__(self, types: Iterable[EventType]) -> None:
        self._by_name: dict[str, EventType] = {}
        for event in sorted(types, key=_position):
            if event.type in self._by_name:
                raise TypeError(f"two event types are called {event.type}")
            self._by_name[event.type] = event

    def __getitem__(self, name: str) -> EventType:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _position(event: EventType) -> tuple[int, str]:
    resource, _, _ = event.type.partition(".")
    return CATEGORIES.index(event.category), resource
