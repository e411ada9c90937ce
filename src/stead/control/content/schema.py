"""The JSON shapes of content: what a site answers, and what the API takes and shows."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.content.rules import ContentStatus, ContentType, WrittenStatus

MAX_CONTENT = 500_000
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
SiteText = Annotated[str, Meta(max_length=1_000_000)]
ContentId = Annotated[str, Meta(description="The number of the post in WordPress.", examples=["42"])]
UserId = Annotated[str, Meta(max_length=20, description="The id of a user of the site.", examples=["1"])]
Title = Annotated[str, Meta(max_length=5_000, examples=["Hello world"])]
Content = Annotated[
    str,
    Meta(
        max_length=MAX_CONTENT,
        description="Blocks or HTML, as WordPress stores it. Scripts and other unsafe HTML are removed.",
        examples=["<!-- wp:paragraph --><p>Welcome.</p><!-- /wp:paragraph -->"],
    ),
]
Excerpt = Annotated[str, Meta(max_length=20_000, examples=["A first post."])]
PostSlug = Annotated[str, Meta(max_length=200, examples=["hello-world"])]
Date = Annotated[
    datetime,
    Meta(description="When it was or will be published. A time in the future needs the status `future`."),
]


class SiteItem(Struct, frozen=True):
    id: Number
    type: ContentType
    status: Annotated[str, Meta(max_length=20)]
    title: SiteText
    slug: SiteText
    modified_at: datetime | None
    date: datetime | None
    author: Number
    url: SiteText


class SiteTerm(Struct, frozen=True):
    id: Number
    name: SiteText
    slug: SiteText


class SiteDetail(SiteItem, frozen=True):
    content: SiteText
    excerpt: SiteText
    parent: Number
    featured_media: Number
    terms: dict[str, list[SiteTerm]]
    meta: dict[str, Any]
    mime_type: SiteText
    file_url: SiteText


class SiteItems(Struct, frozen=True):
    items: Annotated[list[SiteItem], Meta(max_length=200)]


class Deleted(Struct, frozen=True):
    trashed: bool = False


class ContentFilter(Struct, frozen=True):
    type: Annotated[ContentType | None, Meta(description="Only content of this type.")] = None
    status: Annotated[
        ContentStatus | None, Meta(description="Only content with this status. Otherwise all but the trash.")
    ] = None


class ContentView(Struct):
    id: ContentId
    type: Annotated[ContentType, Meta(examples=["post"])]
    status: Annotated[
        str,
        Meta(
            description="`publish`, `draft`, `pending`, `private`, `future`, `trash`, or one of a plugin.",
            examples=["publish"],
        ),
    ]
    title: Annotated[str, Meta(examples=["Hello world"])]
    slug: Annotated[str, Meta(examples=["hello-world"])]
    modified_at: datetime | None
    date: Annotated[datetime | None, Meta(description="Null for a draft without a date.")]
    author: UserId
    url: Annotated[str, Meta(examples=["https://example.com/hello-world/"])]


class TermsView(Struct):
    taxonomy: Annotated[str, Meta(examples=["category"])]
    names: Annotated[list[str], Meta(examples=[["News"]])]


class MetaView(Struct):
    key: Annotated[str, Meta(examples=["subtitle"])]
    value: Annotated[str, Meta(description="Lists and objects are JSON.", examples=["A new start"])]


class ContentDetailView(ContentView):
    content: Annotated[str, Meta(examples=["<!-- wp:paragraph --><p>Welcome.</p><!-- /wp:paragraph -->"])]
    excerpt: Annotated[str, Meta(examples=["A first post."])]
    parent: Annotated[str | None, Meta(description="The page above a page.", examples=[None])]
    featured_media: Annotated[str | None, Meta(examples=["17"])]
    terms: list[TermsView]
    meta: Annotated[list[MetaView], Meta(description="Values that plugins have registered for the REST API.")]
    mime_type: Annotated[str | None, Meta(description="Of media.", examples=[None])]
    file_url: Annotated[str | None, Meta(description="Of media.", examples=[None])]


class NewTerms(Struct, forbid_unknown_fields=True):
    taxonomy: Annotated[str, Meta(min_length=1, max_length=32, examples=["category"])]
    names: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]],
        Meta(max_length=50, description="Terms that do not exist are created.", examples=[["News"]]),
    ]


class NewMeta(Struct, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=255, examples=["subtitle"])]
    value: Annotated[str, Meta(max_length=20_000, examples=["A new start"])]


Terms = Annotated[
    list[NewTerms],
    Meta(max_length=20, description="Replaces the terms of each taxonomy that is named.", examples=[[]]),
]
MetaValues = Annotated[
    list[NewMeta],
    Meta(
        max_length=50, description="Only values that a plugin has registered for the REST API.", examples=[[]]
    ),
]


class NewContent(Struct, forbid_unknown_fields=True):
    type: Annotated[ContentType, Meta(examples=["post"])] = "post"
    source: (
        Annotated[
            str,
            Meta(
                max_length=64,
                description="Of `media`: the id of an upload of the site, of at most 32 MiB.",
            ),
        ]
        | UnsetType
    ) = UNSET
    filename: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description="Of `media`. WordPress accepts it by its type, and may change it.",
            ),
        ]
        | UnsetType
    ) = UNSET
    title: Title = ""
    content: Content = ""
    excerpt: Excerpt | UnsetType = UNSET
    slug: PostSlug | UnsetType = UNSET
    status: Annotated[WrittenStatus, Meta(examples=["draft"])] = "draft"
    date: Date | UnsetType = UNSET
    author: Annotated[str, Meta(max_length=20, description="The id of a user.")] | UnsetType = UNSET
    parent: Annotated[str, Meta(max_length=20, description="The id of a page.")] | UnsetType = UNSET
    featured_media: Annotated[str, Meta(max_length=20, description="The id of a file.")] | UnsetType = UNSET
    terms: Terms | UnsetType = UNSET
    meta: MetaValues | UnsetType = UNSET


class ContentChange(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay as they are. A status takes content out of the trash."""

    title: Title | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    excerpt: Excerpt | UnsetType = UNSET
    slug: PostSlug | UnsetType = UNSET
    status: Annotated[WrittenStatus, Meta(examples=["draft"])] | UnsetType = UNSET
    date: Date | UnsetType = UNSET
    author: Annotated[str, Meta(max_length=20, description="The id of a user.")] | UnsetType = UNSET
    parent: Annotated[str, Meta(max_length=20, description="The id of a page.")] | UnsetType = UNSET
    featured_media: Annotated[str, Meta(max_length=20, description="The id of a file.")] | UnsetType = UNSET
    terms: Terms | UnsetType = UNSET
    meta: MetaValues | UnsetType = UNSET


class ContentOperation(Struct, forbid_unknown_fields=True):
    """`create` needs `new`; `update` needs `id` and `change`; `delete` needs `id`."""

    action: Annotated[Literal["create", "update", "delete"], Meta(examples=["delete"])]
    id: Annotated[str, Meta(max_length=20, examples=["42"])] | UnsetType = UNSET
    new: NewContent | UnsetType = UNSET
    change: ContentChange | UnsetType = UNSET


class ContentBatch(Struct, forbid_unknown_fields=True):
    operations: Annotated[
        list[ContentOperation],
        Meta(min_length=1, max_length=100, examples=[[{"action": "delete", "id": "42"}]]),
    ]
