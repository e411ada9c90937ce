"""The JSON shapes of redirects."""

from typing import Annotated

from msgspec import Meta, Struct

from stead.control.redirects.rules import RedirectRule


class RedirectsView(Struct):
    redirects: list[RedirectRule]


class NewRedirects(Struct, forbid_unknown_fields=True):
    redirects: Annotated[
        list[RedirectRule],
        Meta(
            max_length=5000,
            description="The complete set of rules, with at most 512 KiB of paths and destinations."
            " An empty list removes all.",
        ),
    ]
