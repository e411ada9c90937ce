"""The JSON shapes of users of a site."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.cms_users.rules import PasswordDelivery
from stead.shared.sensitive import SENSITIVE

SiteText = Annotated[str, Meta(max_length=1000)]
CmsUserId = Annotated[str, Meta(description="The number of the user in WordPress.", examples=["7"])]
Email = Annotated[str, Meta(min_length=3, max_length=100, examples=["ada@example.com"])]
Login = Annotated[
    str, Meta(min_length=1, max_length=60, description="Cannot be changed later.", examples=["ada"])
]
RoleName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=60,
        description="The name of a role of the site. An administrator can install plugins, and so run code.",
        examples=["editor"],
    ),
]
DisplayName = Annotated[str, Meta(max_length=200, examples=["Ada Lovelace"])]
GivenName = Annotated[str, Meta(max_length=200, examples=["Ada"])]
FamilyName = Annotated[str, Meta(max_length=200, examples=["Lovelace"])]
Delivery = Annotated[
    PasswordDelivery,
    Meta(
        description="`reset_mail`: WordPress sends a mail with a link to choose a password. `response`: a new"
        " random password is in this response, and nowhere else. `none`: the user can ask for a mail on the"
        " sign-in page.",
        examples=["none"],
    ),
]


class SiteUser(Struct, frozen=True):
    id: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    login: SiteText
    email: SiteText
    display_name: SiteText
    first_name: SiteText
    last_name: SiteText
    roles: Annotated[list[SiteText], Meta(max_length=100)]
    registered_at: datetime | None


class SiteUsers(Struct, frozen=True):
    items: Annotated[list[SiteUser], Meta(max_length=200)]


class Deleted(Struct, frozen=True):
    deleted: bool


class CmsUserFilter(Struct, frozen=True):
    role: Annotated[str, Meta(max_length=60, description="Only users with this role.")] | None = None


class CmsUserDeletion(Struct, frozen=True):
    reassign: (
        Annotated[str, Meta(max_length=20, description="The id of the user who gets the content.")] | None
    ) = None


class CmsUserView(Struct):
    id: CmsUserId
    login: Annotated[str, Meta(examples=["ada"])]
    email: Annotated[str, Meta(examples=["ada@example.com"])]
    display_name: Annotated[str, Meta(examples=["Ada Lovelace"])]
    first_name: Annotated[str, Meta(examples=["Ada"])]
    last_name: Annotated[str, Meta(examples=["Lovelace"])]
    roles: Annotated[list[str], Meta(examples=[["editor"]])]
    registered_at: datetime | None


class CmsUserWithPasswordView(CmsUserView):
    password: Annotated[
        str | None,
        Meta(
            description="Only if `password_delivery` is `response`. It is shown once.",
            examples=[None],
            extra_json_schema=SENSITIVE,
        ),
    ] = None


class NewCmsUser(Struct, forbid_unknown_fields=True):
    email: Email
    login: Login
    role: RoleName = "subscriber"
    display_name: DisplayName | UnsetType = UNSET
    first_name: GivenName | UnsetType = UNSET
    last_name: FamilyName | UnsetType = UNSET
    password_delivery: Delivery = "none"  # noqa: S105 - no password


class CmsUserChange(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay as they are."""

    email: Email | UnsetType = UNSET
    role: RoleName | UnsetType = UNSET
    display_name: DisplayName | UnsetType = UNSET
    first_name: GivenName | UnsetType = UNSET
    last_name: FamilyName | UnsetType = UNSET
    password_delivery: Delivery = "none"  # noqa: S105 - no password
