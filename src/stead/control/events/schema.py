"""The JSON shapes of events."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct


class EventFilter(Struct):
    type: Annotated[str | None, Meta(description="Only this type.", examples=["deploy.completed"])] = None


class EventView(Struct):
    id: Annotated[str, Meta(examples=["evt_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[str, Meta(examples=["deploy.completed"])]
    site_id: Annotated[
        str | None,
        Meta(
            description="Null if the event does not concern a site.",
            examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"],
        ),
    ]
    env_id: Annotated[
        str | None, Meta(description="Null if the event does not concern an environment.", examples=[None])
    ]
    job_id: Annotated[str | None, Meta(examples=["job_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    data: Annotated[
        dict[str, Any],
        Meta(description="The payload; its fields depend on `type`.", examples=[{"domain": "example.com"}]),
    ]
    created_at: datetime
