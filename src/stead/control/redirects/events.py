"""Event types of redirects."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload


class RedirectsReplaced(Payload):
    domain: Domain
    rules: Annotated[int, Meta(description="How many there are now.", examples=[12])]


SITE_REDIRECTS_CHANGED = EventType(
    "site.redirects_changed", "site", "The redirects of a site were replaced", data=RedirectsReplaced
)
