"""The JSON shapes of the audit trail."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from stead.shared.ids import ALPHABET

Moment = Annotated[datetime, Meta(tz=True)]


class AuditFilter(Struct):
    event: Annotated[str | None, Meta(description="Only this event.")] = None
    actor: Annotated[str | None, Meta(description="An account id, an email address or an API key id.")] = None
    since: Annotated[Moment | None, Meta(description="Only entries at or after this time.")] = None
    until: Annotated[Moment | None, Meta(description="Only entries before this time.")] = None


EntryId = Annotated[
    str,
    Meta(
        pattern=rf"^aud_[{ALPHABET}]{{26}}$(?!\n)",
        extra={
            "noun": "id of an audit entry",
            "expected": "It looks like this: aud_01k9zy3v7d00r3m8w5x2t6b4qa.",
        },
    ),
]


class TeamAuditFilter(AuditFilter):
    before: Annotated[EntryId | None, Meta(description="Only entries older than the one with this id.")] = (
        None
    )


class AuditEventView(Struct):
    id: Annotated[str, Meta(examples=["aud_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    event: Annotated[str, Meta(examples=["api_key_create"])]
    outcome: Literal["success", "denied"]
    actor_kind: Literal["member", "api_key", "system"]
    actor_user_id: Annotated[
        str | None,
        Meta(
            description="The person, also if an API key was used.",
            examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    actor_email: Annotated[str | None, Meta(examples=["ada@example.com"])]
    actor_key_id: Annotated[str | None, Meta(examples=[None])]
    team_id: Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    site_id: Annotated[str | None, Meta(examples=[None])]
    meta: Annotated[dict[str, Any], Meta(examples=[{"role": "observer"}])]
    created_at: datetime
