"""The JSON shapes of domains."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.certificates.schema import TlsView
from stead.control.domains.rules import DomainStatus, challenge_name

Hostname = Annotated[str, Meta(min_length=1, max_length=253, examples=["www.example.com"])]
DomainIdText = Annotated[str, Meta(examples=["dom_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class ChallengeView(Struct):
    """A DNS record that proves who has the name. It may be removed once the name is verified."""

    type: Annotated[Literal["TXT"], Meta(examples=["TXT"])]
    name: Annotated[str, Meta(examples=["_stead-challenge.www.example.com"])]
    value: Annotated[str, Meta(examples=["stead-3c1f0a9e5b7d4286a0c4e8f2d6b19357"])]


def build_challenge(hostname: str, value: str) -> ChallengeView:
    return ChallengeView("TXT", challenge_name(hostname), value)


class DomainView(Struct):
    id: DomainIdText
    hostname: Hostname
    primary: Annotated[bool, Meta(description="It is the `domain` of the site.")]
    redirect_to_primary: Annotated[
        bool, Meta(description="Visitors are redirected to the primary domain, with the same path.")
    ]
    status: Annotated[
        DomainStatus,
        Meta(
            description="`pending`: looked up repeatedly until it is proved. `verified`: served. `failed`:"
            " not proved within 7 days, or proved by another account; `verify` starts again.",
            examples=["pending"],
        ),
    ]
    reason: Annotated[
        str | None,
        Meta(
            description="What was looked up and found, and what to do. Null once the name is verified.",
            examples=["www.example.com points to 192.0.2.7. Point its A record to 203.0.113.5."],
        ),
    ]
    challenge: Annotated[
        ChallengeView | None,
        Meta(
            description="A DNS record that proves the name, also before it points here. Null once it was"
            " found. A name that is verified because it points here needs it only to have its DNS zone here."
        ),
    ]
    tls: TlsView
    created_at: datetime


class NewDomain(Struct, forbid_unknown_fields=True):
    hostname: Annotated[Hostname, Meta(description="Internationalized names and wildcards are accepted.")]
    redirect_to_primary: Annotated[
        bool, Meta(description="Redirect visitors to the primary domain.", examples=[False])
    ] = False
    include_www: Annotated[
        bool,
        Meta(
            description="Also attach the same name with `www.` in front, or without it, and redirect its"
            " visitors to the primary domain.",
            examples=[False],
        ),
    ] = False
