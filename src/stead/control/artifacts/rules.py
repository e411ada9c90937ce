"""What an artifact is, and how long it is kept. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.protocol.work.builds import PhpRequirement
from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import ArtifactId, SiteId

ServeModel = Literal["container", "static", "wasm"]

NEWEST_KEPT = 10
"""How many artifacts of a site, and of the latest deployments of an environment, are always kept."""
KEPT_FOR = timedelta(days=30)
REMOVAL_CLAIMED_FOR = timedelta(minutes=15)
"""Longer than all attempts of one request to the object store."""
UNRECORDED_BLOBS_KEPT_FOR = timedelta(hours=2)
"""How long blobs are kept before their artifact is recorded; longer than any build may take."""


@dataclass(frozen=True, slots=True)
class Artifact:
    id: ArtifactId
    site_id: SiteId
    digest: str
    serve_model: ServeModel
    manifest: bytes
    config: bytes
    envelope: bytes
    key_id: str
    layer_digest: str
    layer_size: int
    ref: str | None
    commit: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class BlobSize:
    stored: int
    unpacked: int = 0
    """How much space a layer takes on a node; 0 for other blobs."""

    @property
    def counted(self) -> int:
        """The bytes that count toward the storage of a plan. `plans.store` computes the same."""
        return max(self.stored, self.unpacked)


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """The signed result of a build."""

    site_id: str
    build_id: str
    serve_model: ServeModel
    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    key_id: str
    layer_digest: str
    layer_size: int
    layer_unpacked: int
    """How much space the layer takes on a node, as the builder reported it."""
    ref: str | None
    commit: str | None
    blobs: tuple[str, ...]
    php: tuple[PhpRequirement, ...] = ()


def blob_name(digest: str) -> str:
    """The name of a blob in the object store. It is never overwritten."""
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


class ArtifactNotFound(NotFound):
    code = "artifact.not_found"
    message = "The artifact was not found on this site."
    remedy = (
        "List the artifacts that can be deployed with `GET …/artifacts`. Old artifacts that nothing uses are"
        " removed."
    )


class SignatureInvalid(Conflict):
    code = "artifact.signature_invalid"
    message = "The artifact does not match its signature: {reason}"
    remedy = "It was not served. Build again. If the error persists, the operator must check the builder."
