"""The JSON shapes of branch routes."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.git.branch_rules import MAX_RULES, BranchRule
from stead.control.git.forge_rules import ForgeKind, NewForge
from stead.shared.sensitive import SENSITIVE


class BranchRoutesView(Struct):
    rules: list[BranchRule]
    hook_url: Annotated[
        str,
        Meta(
            description="The URL to enter as a webhook in the forge.",
            examples=["https://api.example.com/hooks/git/site_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    hook_secret_set: Annotated[
        bool, Meta(description="Whether the hook has a secret. Without one, all deliveries are refused.")
    ]
    deploy_key: Annotated[
        str | None,
        Meta(
            description="The site's public key for a repository over ssh; null without a repository.",
            examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0WZ6mQ stead"],
        ),
    ]
    last_hook_at: Annotated[datetime | None, Meta(description="When the last hook delivery arrived.")]
    last_checked_at: Annotated[
        datetime | None, Meta(description="When the repository was last polled for its branches.")
    ]
    last_error: Annotated[
        str | None, Meta(description="Why the last poll failed, if it did.", examples=[None])
    ]
    forge: Annotated[
        ForgeKind | None,
        Meta(
            description="The kind of forge that is told about builds; null if it has no token.",
            examples=["github"],
        ),
    ]
    forge_error: Annotated[
        str | None, Meta(description="Why the forge could not be told, if it could not.", examples=[None])
    ]
    hook_secret: (
        Annotated[
            str,
            Meta(
                description="Returned only once, when it is created.",
                examples=["c2hvd24gb25jZSBvbmx5"],
                extra_json_schema=SENSITIVE,
            ),
        ]
        | UnsetType
    ) = UNSET


class NewBranchRoutes(Struct, forbid_unknown_fields=True):
    rules: Annotated[
        list[BranchRule],
        Meta(max_length=MAX_RULES, description="All rules, in order: the first that matches applies."),
    ]
    roll_hook_secret: Annotated[
        bool,
        Meta(
            description="Create a new secret for the hook. The old one stops working immediately.",
            examples=[False],
        ),
    ] = False
    forge: (
        Annotated[
            NewForge | None,
            Meta(
                description="The forge that gets commit statuses, and comments with the URL of a preview. It"
                " stays as it is if it is not sent; null removes the token.",
                examples=[None],
            ),
        ]
        | UnsetType
    ) = UNSET
