"""Parameters that several views have."""

from typing import Annotated

from msgspec import Meta

MAX_REQUEST_HOURS = 4320

Hours = Annotated[int, Meta(ge=1, le=MAX_REQUEST_HOURS, description="How far to look back.")]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9-]{1,63}$(?!\n)",
        extra={"expected": "It has lower-case letters, digits and hyphens: php."},
    ),
]
Words = Annotated[str, Meta(min_length=1, max_length=200)]
