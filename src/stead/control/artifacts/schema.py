"""The JSON shape of an artifact."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.artifacts.rules import ServeModel

_DIGEST = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
Digest = Annotated[str, Meta(description="The SHA-256 of its OCI manifest.", examples=[_DIGEST])]
ArtifactIdText = Annotated[str, Meta(examples=["art_01k9zy3v7d00r3m8w5x2t6b4qa"])]
Ref = Annotated[str | None, Meta(description="The branch or tag it was built from.", examples=["main"])]
Commit = Annotated[str | None, Meta(examples=["9fceb02d0ae598e95dc970b74767f19372d61af8"])]


class ArtifactView(Struct):
    id: ArtifactIdText
    digest: Digest
    signature_ref: Annotated[
        str, Meta(description="The key that signed the provenance.", examples=[f"dsse:{_DIGEST}"])
    ]
    serve_model: ServeModel
    ref: Ref
    commit: Commit
    build_id: Annotated[str | None, Meta(examples=["build_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    size_bytes: Annotated[int, Meta(description="The size of its compressed files.", examples=[48213])]
    created_at: datetime
