"""Event types of invites."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload

_InviteId = Annotated[str, Meta(examples=["inv_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class InvitePayload(Payload):
    invite_id: _InviteId
    role: Annotated[str | None, Meta(examples=["observer"])] = None


TEAM_INVITE_CREATED = EventType(
    "team.invite_created", "team", "Somebody was invited to a team", data=InvitePayload
)
TEAM_INVITE_REVOKED = EventType("team.invite_revoked", "team", "An invite was revoked", data=InvitePayload)
