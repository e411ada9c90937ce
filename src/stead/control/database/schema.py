"""The JSON shapes of databases."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

Name = Annotated[str, Meta(max_length=64, examples=["wp_posts"])]
Bytes = Annotated[int, Meta(ge=0, examples=[524288])]
Query = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100_000,
        description="One statement. Each `?` stands for a value of `params`.",
        examples=["SELECT ID, post_title FROM wp_posts WHERE post_status = ? LIMIT 10"],
    ),
]
Parameters = Annotated[
    list[Annotated[str, Meta(max_length=100_000)] | int | float | bool | None],
    Meta(max_length=100, description="In the order of the `?`.", examples=[["publish"]]),
]


class TableView(Struct, frozen=True):
    name: Name
    rows: Annotated[int, Meta(ge=0, description="An estimate.", examples=[120])]
    size_bytes: Bytes


class DatabaseView(Struct, frozen=True):
    engine: Annotated[str, Meta(max_length=20, examples=["mariadb"])]
    version: Annotated[str, Meta(max_length=200, examples=["10.11.6-MariaDB"])]
    size_bytes: Bytes
    tables: Annotated[list[TableView], Meta(max_length=2000)]


class QueryResultView(Struct, frozen=True):
    columns: Annotated[
        list[str],
        Meta(description="A second column of the same name gets a number.", examples=[["ID", "post_title"]]),
    ]
    rows: Annotated[
        list[dict[str, Any]],
        Meta(
            description="Numbers with decimals and times are text; bytes that are no text begin with `0x`.",
            examples=[[{"ID": 1, "post_title": "Hello world"}]],
        ),
    ]
    row_count: Annotated[int, Meta(ge=0, examples=[1])]
    truncated: Annotated[
        bool, Meta(description="There are more rows than `limit`, or than 512 KiB.", examples=[False])
    ]


class NewQuery(Struct, forbid_unknown_fields=True):
    query: Query
    params: Parameters = []
    limit: Annotated[int, Meta(ge=1, le=1000, description="The most rows to return.", examples=[100])] = 100


class NewStatement(Struct, forbid_unknown_fields=True):
    query: Annotated[
        Query, Meta(examples=["UPDATE wp_posts SET comment_status = ? WHERE comment_status = 'open'"])
    ]
    params: Annotated[Parameters, Meta(examples=[["closed"]])] = []
    confirm: Annotated[
        bool, Meta(description="Without it, the change is made and taken back at once.", examples=[False])
    ] = False


class StatementResultView(Struct, frozen=True):
    affected_rows: Annotated[int, Meta(ge=0, examples=[12])]
    applied: Annotated[bool, Meta(description="False if it was a dry run.", examples=[False])]


class NewExport(Struct, forbid_unknown_fields=True):
    tables: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=64)]],
        Meta(max_length=200, description="All tables if it is empty.", examples=[["wp_posts"]]),
    ] = []
    compress: Annotated[bool, Meta(description="With gzip.", examples=[True])] = True
    # The example of a body has tables and no statement: both together are refused.
    query: (
        UnsetType
        | Annotated[
            Query,
            Meta(
                description="Export the result of one statement that reads instead of tables, each row as a"
                " line of JSON. It may take 5 minutes and return 1 GiB."
            ),
        ]
    ) = UNSET
    params: Annotated[
        Parameters, Meta(description="Of `query`, in the order of the `?`.", examples=[[]])
    ] = []
