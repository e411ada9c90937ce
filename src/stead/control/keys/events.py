"""Event types of API keys."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload

_KeyId = Annotated[str, Meta(examples=["key_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class KeyPayload(Payload):
    key_id: _KeyId


KEY_CREATED = EventType(
    "key.created",
    "security",
    "An API key was created",
    data=KeyPayload,
    in_app=True,
    text="The key {key_id} was created. If that was not you, revoke it and change your password.",
)
KEY_CHANGED = EventType("key.changed", "security", "An API key was renamed or restricted", data=KeyPayload)
KEY_ROLLED = EventType(
    "key.rolled",
    "security",
    "The secret of an API key was replaced",
    data=KeyPayload,
    in_app=True,
    text="The key {key_id} has a new secret; the old one works for 24 hours.",
)
KEY_REVOKED = EventType("key.revoked", "security", "An API key was revoked", data=KeyPayload)
