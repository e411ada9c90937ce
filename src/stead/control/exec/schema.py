"""The JSON shape of a command."""

from typing import Annotated

from msgspec import Meta, Struct

from stead.protocol.work.access import Shell

Argument = Annotated[str, Meta(max_length=16_384)]


class NewCommand(Struct, forbid_unknown_fields=True):
    args: Annotated[
        list[Argument],
        Meta(
            min_length=1,
            max_length=64,
            description="The arguments, without the name of the program.",
            examples=[["plugin", "list", "--format=json"]],
        ),
    ]
    shell: Annotated[
        Shell,
        Meta(
            description="The program: WP-CLI, or bash, which needs the scope `exec:raw`.",
            examples=["cms-cli"],
        ),
    ] = "cms-cli"
