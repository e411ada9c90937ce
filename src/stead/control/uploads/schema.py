"""The JSON shape of an upload."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.uploads.rules import MAX_BYTES
from stead.shared.sensitive import SENSITIVE


class NewUpload(Struct, forbid_unknown_fields=True):
    size_bytes: Annotated[
        int,
        Meta(
            description="The exact size of the archive. The URL accepts no other.",
            ge=1,
            le=MAX_BYTES,
            examples=[48213],
        ),
    ]


class UploadView(Struct):
    id: Annotated[
        str, Meta(description="Used as the `source` of a build.", examples=["upl_01k9zy3v7d00r3m8w5x2t6b4qa"])
    ]
    url: Annotated[
        str,
        Meta(
            description="Where to send the archive, unchanged. Keep the URL secret while it is valid.",
            examples=["https://objects.example.com/stead/uploads/upl_01k9zy3v7d00r3m8w5x2t6b4qa?…"],
            extra_json_schema=SENSITIVE,
        ),
    ]
    method: Literal["PUT"]
    headers: Annotated[
        dict[str, str],
        Meta(
            description="Headers to send with the archive. They are part of the signature of the URL.",
            examples=[{"Content-Length": "48213", "If-None-Match": "*"}],
        ),
    ]
    expires_at: Annotated[datetime, Meta(description="Until when the URL accepts the archive.")]
    max_bytes: Annotated[int, Meta(description="The declared size.", examples=[48213])]
