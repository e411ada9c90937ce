"""Event types of greetings."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import Domain, EventType, Payload


class GreetingSent(Payload):
    domain: Domain
    text: Annotated[str, Meta(examples=["Hello"])]


GREETING_SENT = EventType("greeting.sent", "site", "A greeting was sent", data=GreetingSent)
