"""The JSON shape of a site's TLS status."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from stead.control.certificates.rules import Reason, State


class TlsView(Struct):
    domain: Annotated[str, Meta(examples=["example.com"])]
    state: Annotated[
        State,
        Meta(
            description="`unconfigured`: no certificate will be issued. `not_registered`: waiting for the"
            " first attempt. `pending`: not issued yet. `valid`: issued. `expired`: expired and not renewed.",
            examples=["pending"],
        ),
    ]
    ca: Annotated[str | None, Meta(description="The certificate authority that issued it.", examples=[None])]
    issued_at: Annotated[datetime | None, Meta(examples=[None])]
    expires_at: Annotated[datetime | None, Meta(examples=[None])]
    error: (
        Annotated[
            str,
            Meta(
                description="Why the last attempt to issue or renew the certificate failed.",
                examples=["example.com leads to 192.0.2.7. Let its A record lead to 203.0.113.5."],
            ),
        ]
        | UnsetType
    ) = UNSET
    error_code: (
        Annotated[Reason, Meta(description="The reason for `error`, as a code.", examples=["dns"])]
        | UnsetType
    ) = UNSET
