"""The JSON shapes of a switch."""

from typing import Annotated

from msgspec import Meta, Struct, field

from stead.control.sites.rules import PhpVersion


class PhpSwitch(Struct, forbid_unknown_fields=True):
    version: Annotated[PhpVersion, Meta(examples=["8.4"])]
    dry_run: Annotated[
        bool,
        Meta(
            description="Change nothing, and describe the switch instead. The response has status 200.",
            examples=[False],
        ),
    ] = False
    force: Annotated[
        bool,
        Meta(
            description="Switch although the code of the site does not allow the version. Each environment"
            " must still answer.",
            examples=[False],
        ),
    ] = False


class Lockfile(Struct):
    """What the files of Composer say about the version."""

    constraint: Annotated[str, Meta(examples=["~8.2.0"])]
    required_by: Annotated[
        str,
        Meta(description="A package, or `composer.json` for the project itself.", examples=["acme/forms"]),
    ]
    allows: Annotated[
        bool,
        Meta(
            description="Also true for a requirement that the current version does not meet either: it is no"
            " reason to stay on it.",
            examples=[False],
        ),
    ]


class PreviewedEnvironment(Struct):
    env_id: Annotated[str, Meta(examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["production"])]
    branch: Annotated[str | None, Meta(examples=[None])]
    lockfile: Annotated[
        Lockfile | None, Meta(description="Null without a release, or without a requirement of PHP.")
    ]


class PhpSwitchPreview(Struct):
    from_: Annotated[str | None, Meta(examples=["8.2"])] = field(name="from")
    to: Annotated[str, Meta(examples=["8.4"])]
    from_image: Annotated[str | None, Meta(examples=["php8.2"])]
    to_image: Annotated[str, Meta(examples=["php8.4"])]
    environments: Annotated[
        list[PreviewedEnvironment], Meta(description="Those that would be switched, in this order.")
    ]
    lockfile: Annotated[
        Lockfile | None,
        Meta(description="Of the first environment that forbids the version, or else of the first with one."),
    ]
    would_apply: Annotated[
        bool,
        Meta(
            description="Whether the request would be accepted without `dry_run`. Its job checks more before"
            " it changes anything: exact versions, extensions, plugins, the theme and the front page.",
            examples=[False],
        ),
    ]
