"""The JSON shapes of memberships."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.shared.roles import Role

ClientIdText = Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]
RoleText = Annotated[Role, Meta(examples=["site_manager"])]
Expiry = Annotated[datetime, Meta(tz=True, examples=["2027-06-30T22:00:00Z"])]


class NewMember(Struct, forbid_unknown_fields=True):
    client_id: ClientIdText
    role: Annotated[RoleText, Meta(description="Not above your own.")]
    expires_at: Annotated[Expiry | None, Meta(description="When the membership expires.")] = None


class MemberChange(Struct, forbid_unknown_fields=True):
    role: Annotated[RoleText, Meta(description="Not above your own.")]
    expires_at: Annotated[
        Expiry | UnsetType | None, Meta(description="`null` removes the expiry. If omitted, it is unchanged.")
    ] = UNSET


class MemberView(Struct):
    id: Annotated[str, Meta(examples=["mem_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    client_id: ClientIdText
    email: Annotated[str, Meta(examples=["ada@example.com"])]
    name: Annotated[str, Meta(examples=["Ada Lovelace"])]
    role: RoleText
    expires_at: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime
