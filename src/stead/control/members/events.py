"""Event types of team members."""

from typing import Annotated

from msgspec import Meta

from stead.control.outbox.event_types import EventType, Payload

_AccountId = Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Role = Annotated[str, Meta(examples=["observer"])]


class MemberPayload(Payload):
    client_id: _AccountId
    role: _Role


class MemberRemoved(Payload):
    client_id: _AccountId


TEAM_MEMBER_ADDED = EventType(
    "team.member_added",
    "team",
    "A member joined a team",
    data=MemberPayload,
    in_app=True,
    audience="admins",
    text="A member joined as {role}.",
)
TEAM_MEMBER_CHANGED = EventType(
    "team.member_changed", "team", "The role of a member changed", data=MemberPayload
)
TEAM_MEMBER_REMOVED = EventType(
    "team.member_removed",
    "team",
    "A member left a team",
    data=MemberRemoved,
    in_app=True,
    audience="admins",
    text="A member left or was removed.",
)
