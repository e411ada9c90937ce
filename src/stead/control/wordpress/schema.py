"""The JSON shapes of WordPress sites."""

from typing import Annotated

from msgspec import Meta, Struct

from stead.shared.sensitive import SENSITIVE

Username = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$(?!\n)",
        examples=["editor"],
        extra={
            "noun": "user name",
            "expected": "It has up to 60 letters, digits, dots, hyphens and underscores. The first one is a"
            " letter or a digit.",
        },
    ),
]
Email = Annotated[
    str,
    Meta(
        pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$(?!\n)",
        max_length=100,
        extra={"noun": "email address", "expected": "It has a name, an @ and a domain, without spaces."},
    ),
]
Password = Annotated[str, Meta(min_length=12, max_length=128, examples=["correct horse battery staple"])]


class NewAdministrator(Struct, forbid_unknown_fields=True):
    """The first administrator of a WordPress site."""

    username: Username = "admin"
    email: Annotated[
        Email | None, Meta(description="Your own address if omitted.", examples=["editor@example.com"])
    ] = None
    password: Annotated[
        Password | None,
        Meta(
            description="Write-only. If omitted, a random one that nobody knows: choose your own with"
            " *Lost your password?* on `/wp-login.php`, which sends a link to the administrator's address.",
            extra_json_schema=SENSITIVE,
        ),
    ] = None
