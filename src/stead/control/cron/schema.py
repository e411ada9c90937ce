"""The JSON shapes of scheduled events."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

Hook = Annotated[str, Meta(min_length=1, max_length=200, examples=["send_newsletter"])]
Schedule = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        description="The name of a recurrence of the site, such as `hourly` or `daily`, or the time of an"
        " event that runs once.",
        examples=["daily"],
    ),
]
Argument = Annotated[str, Meta(max_length=5000)] | int | float | bool | None
Arguments = Annotated[
    list[Argument], Meta(max_length=50, description="What the hook is called with.", examples=[["monthly"]])
]


class SiteEvent(Struct, frozen=True):
    id: Annotated[str, Meta(pattern=r"^cron_[0-9a-f]{26}\Z")]
    hook: Annotated[str, Meta(max_length=1000)]
    recurrence: Annotated[str, Meta(max_length=1000)] | None
    time: Annotated[int, Meta(ge=0, lt=2**32)]
    interval: int | None
    args: list[Any]


class SiteEvents(Struct, frozen=True):
    events: Annotated[list[SiteEvent], Meta(max_length=5000)]


class Deleted(Struct, frozen=True):
    deleted: bool


class CronView(Struct):
    id: Annotated[str, Meta(examples=["cron_3c1f0a9e5b7d4286a0c4e8f2d6"])]
    hook: Annotated[str, Meta(examples=["send_newsletter"])]
    schedule: Annotated[
        str, Meta(description="A recurrence, or the time of an event that runs once.", examples=["daily"])
    ]
    next_run_at: Annotated[
        datetime,
        Meta(description="The platform runs it within about a minute, also while the site sleeps."),
    ]
    interval_seconds: Annotated[int | None, Meta(description="Of a repeated event.", examples=[86400])]
    args: Annotated[list[str], Meta(description="Values that are not text are JSON.", examples=[["monthly"]])]


class NewCron(Struct, forbid_unknown_fields=True):
    hook: Hook
    schedule: Schedule
    args: Arguments = []


class CronChange(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay as they are."""

    schedule: Schedule | UnsetType = UNSET
    args: Arguments | UnsetType = UNSET
