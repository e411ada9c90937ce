"""The JSON shapes of branch routes."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.git.rules import MOST_RULES, BranchRule


class BranchRoutesView(Struct):
    rules: list[BranchRule]
    hook_url: Annotated[
        str,
        Meta(
            description="Where the forge posts its pushes.",
            examples=["https://api.example.com/hooks/git/site_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    hook_secret_set: Annotated[bool, Meta(description="Without a secret no hook is believed.")]
    deploy_key: Annotated[
        str | None,
        Meta(
            description="The public key of this site, for a repository over ssh; null without a repository.",
            examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0WZ6mQ stead"],
        ),
    ]
    last_hook_at: Annotated[datetime | None, Meta(description="When a hook was last heard.")]
    last_checked_at: Annotated[
        datetime | None, Meta(description="When the repository was last asked for its branches.")
    ]
    last_error: Annotated[str | None, Meta(description="Why it could not be asked, if so.", examples=[None])]
    hook_secret: (
        Annotated[
            str,
            Meta(description="Shown once, when it is made.", examples=["c2hvd24gb25jZSBvbmx5"]),
        ]
        | UnsetType
    ) = UNSET


class NewBranchRoutes(Struct, forbid_unknown_fields=True):
    rules: Annotated[
        list[BranchRule],
        Meta(max_length=MOST_RULES, description="The whole set, in order: the first that matches counts."),
    ]
    roll_hook_secret: Annotated[
        bool,
        Meta(description="Make a new secret for the hook. The old one is void at once.", examples=[False]),
    ] = False
