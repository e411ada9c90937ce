"""The JSON shape of an upload."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct


class UploadView(Struct):
    id: Annotated[
        str, Meta(description="The `source` of a build.", examples=["upl_01k9zy3v7d00r3m8w5x2t6b4qa"])
    ]
    url: Annotated[
        str,
        Meta(
            description="Where to send the archive, as it is. A secret for as long as it lasts.",
            examples=["https://objects.example.com/stead/uploads/upl_01k9zy3v7d00r3m8w5x2t6b4qa?…"],
        ),
    ]
    method: Literal["PUT"]
    headers: Annotated[dict[str, str], Meta(description="To be sent with it.", examples=[{}])]
    expires_at: Annotated[datetime, Meta(description="Until when the address takes it.")]
    max_bytes: Annotated[int, Meta(examples=[1073741824])]
