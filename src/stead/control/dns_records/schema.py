"""The JSON shapes of DNS records."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.dns_records.rules import DEFAULT_TTL, MAX_TTL, MIN_TTL, Delegation, RecordType

Name = Annotated[
    str,
    Meta(
        max_length=253,
        description="Relative to the zone, or complete. `@` is the zone itself; `*` is a wildcard.",
        examples=["mail"],
    ),
]
RecordValue = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        description="An address, a host name or text. SRV: weight, port and target. CAA: flags, tag, value.",
        examples=["192.0.2.7"],
    ),
]
Ttl = Annotated[int, Meta(ge=MIN_TTL, le=MAX_TTL, description="In seconds.", examples=[DEFAULT_TTL])]
Priority = Annotated[int, Meta(ge=0, le=65_535, description="Of MX and SRV records.", examples=[None])]


class RecordView(Struct):
    id: Annotated[str, Meta(examples=["rec_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    type: Annotated[RecordType, Meta(examples=["A"])]
    name: Annotated[str, Meta(description="The complete name.", examples=["mail.example.com"])]
    value: Annotated[str, Meta(examples=["192.0.2.7"])]
    ttl: Ttl
    priority: Annotated[int | None, Meta(examples=[None])]
    published: Annotated[
        bool,
        Meta(
            description="Whether the name servers have it. This takes seconds, once the domain is verified.",
            examples=[False],
        ),
    ]
    delegation: Annotated[
        Delegation,
        Meta(
            description="Whether the domain of the zone is delegated to the name servers of the platform:"
            " `complete`; `partial`, if it also has others; or `none`. It is looked up within minutes.",
            examples=["unknown"],
        ),
    ]
    created_at: datetime


class NewRecord(Struct, forbid_unknown_fields=True):
    type: Annotated[RecordType, Meta(examples=["A"])]
    name: Name
    value: RecordValue
    ttl: Ttl = DEFAULT_TTL
    priority: Priority | None = None


class RecordChange(Struct, forbid_unknown_fields=True):
    """Fields that are left out stay as they are."""

    value: RecordValue | UnsetType = UNSET
    ttl: Ttl | UnsetType = UNSET
    priority: Annotated[int, Meta(ge=0, le=65_535, description="Of MX and SRV records.")] | UnsetType = UNSET
