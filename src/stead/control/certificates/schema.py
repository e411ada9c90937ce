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
            description="`unconfigured` without a certificate to come, `not_registered` before the first"
            " attempt, `pending` until it is issued, then `valid`, and `expired` past its end.",
            examples=["pending"],
        ),
    ]
    ca: Annotated[str | None, Meta(description="Who issued it.", examples=[None])]
    issued_at: Annotated[datetime | None, Meta(examples=[None])]
    expires_at: Annotated[datetime | None, Meta(examples=[None])]
    error: (
        Annotated[
            str,
            Meta(
                description="Why it was not issued, or not renewed, at the last attempt.",
                examples=["example.com leads to 192.0.2.7. Let its A record lead to 203.0.113.5."],
            ),
        ]
        | UnsetType
    ) = UNSET
    error_code: Annotated[Reason, Meta(description="The same in a word.", examples=["dns"])] | UnsetType = (
        UNSET
    )
