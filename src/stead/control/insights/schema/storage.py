"""How much sites store, now and on each of the last days."""

from datetime import date, datetime
from typing import Annotated

from msgspec import Meta, Struct


class StorageFilter(Struct):
    latest: Annotated[bool, Meta(description="Only what is stored now, without the series.")] = False


Day = Annotated[date, Meta(examples=["2026-11-16"])]


class StorageDay(Struct):
    date: Day
    bytes: Annotated[int, Meta(examples=[52428800])]


class SiteStorageView(Struct):
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    bytes: Annotated[
        int,
        Meta(description="Unpacked artifacts and uploads, as they count for the plan.", examples=[52428800]),
    ]
    series: Annotated[list[StorageDay], Meta(description="The last 30 days, oldest first.")]


class StorageView(Struct):
    days: Annotated[int, Meta(description="The length of the series.", examples=[30])]
    sites: Annotated[list[SiteStorageView], Meta(description="Newest first.")]
    truncated: Annotated[bool, Meta(description="You have more sites than are shown.", examples=[False])]
    as_of: datetime
