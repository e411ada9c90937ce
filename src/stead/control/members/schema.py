"""The JSON shapes of memberships."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.shared.roles import Role

ClientIdText = Annotated[str, Meta(examples=["client_01k9zy3v7d00r3m8w5x2t6b4qa"])]
RoleText = Annotated[Role, Meta(examples=["site_manager"])]
Ending = Annotated[datetime, Meta(tz=True, examples=["2027-06-30T22:00:00Z"])]


class NewMember(Struct, forbid_unknown_fields=True):
    client_id: ClientIdText
    role: Annotated[RoleText, Meta(description="Not above your own.")]
    expires_at: Annotated[Ending | None, Meta(description="When the membership ends by itself.")] = None


class MemberChange(Struct, forbid_unknown_fields=True):
    role: Annotated[RoleText, Meta(description="Not above your own.")]
    expires_at: Annotated[
        Ending | UnsetType | None, Meta(description="`null` removes the end; left out, it stays as it is.")
    ] = UNSET


class MemberView(Struct):
    id: Annotated[str, Meta(examples=["mem_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    client_id: ClientIdText
    email: Annotated[str, Meta(examples=["ada@example.com"])]
    name: Annotated[str, Meta(examples=["Ada Lovelace"])]
    role: RoleText
    expires_at: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime
