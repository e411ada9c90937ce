"""The JSON shape of a purge."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

PurgeUrl = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        pattern=r"^(/|https?://)[!-~]*$(?!\n)",
        extra={"expected": "Use a path that begins with a slash, or a complete URL: /blog/?page=2."},
    ),
]
PurgeTag = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"^[!-+\--~]+$(?!\n)",
        extra={"expected": "It has ASCII characters, and neither spaces nor commas: post-42."},
    ),
]


class NewPurge(Struct, forbid_unknown_fields=True):
    """A request without a body purges all pages."""

    type: Annotated[Literal["all", "url", "tag"], Meta(examples=["url"])] = "all"
    url: (
        Annotated[
            PurgeUrl, Meta(description="A path with its query, or an absolute URL.", examples=["/news"])
        ]
        | UnsetType
    ) = UNSET
    tag: Annotated[PurgeTag, Meta(description="A tag that the site sent in `Cache-Tag`.")] | UnsetType = UNSET
