"""The JSON shapes of invites."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.shared import emails
from stead.shared.roles import Role
from stead.shared.sensitive import SENSITIVE

InviteIdText = Annotated[str, Meta(examples=["inv_01k9zy3v7d00r3m8w5x2t6b4qa"])]
TeamIdText = Annotated[str, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
RoleText = Annotated[Role, Meta(examples=["site_manager"])]
Email = Annotated[
    str,
    Meta(
        pattern=emails.PATTERN,
        extra={"noun": "email address", "expected": emails.EXPECTED},
        max_length=emails.MAX_LENGTH,
        examples=["grace@example.com"],
    ),
]
Token = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        examples=["oX3v0S7m4tq1Jc9fWb2uNzKd8LrYpG5hAeT6iQwExkM"],
        extra_json_schema=SENSITIVE,
    ),
]


class NewInvite(Struct, forbid_unknown_fields=True):
    role: Annotated[RoleText, Meta(description="Not above your own.")]
    email: Annotated[
        Email | None,
        Meta(description="The invite is sent to this address, and only its account can accept. Optional."),
    ] = None
    expires_at: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="By default seven days from now.", examples=["2027-06-30T22:00:00Z"]),
    ] = None


class InviteView(Struct):
    id: InviteIdText
    role: RoleText
    email: Email | None
    expires_at: datetime
    created_at: datetime


class CreatedInviteView(InviteView, kw_only=True):
    token: Annotated[Token, Meta(description="Returned only once. Send it to the person you invite.")]


class Acceptance(Struct, forbid_unknown_fields=True):
    token: Token


class AcceptedView(Struct):
    team_id: TeamIdText
    role: RoleText
