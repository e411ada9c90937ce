"""What an artifact is, and how long it is kept. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.shared.errors import Conflict, NotFound
from stead.shared.ids import ArtifactId, SiteId

ServeModel = Literal["container", "static", "wasm"]

NEWEST_KEPT = 10
"""Of a site's artifacts, and of the artifacts of an environment's deployments."""
KEPT_FOR = timedelta(days=30)
HELD_FOR = timedelta(hours=2)
"""How long blobs wait for the artifact that they were stored for; longer than any build may take."""


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
class NewArtifact:
    """What a build has made, signed."""

    site_id: str
    build_id: str
    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    key_id: str
    layer_digest: str
    layer_size: int
    ref: str | None
    commit: str | None
    blobs: tuple[str, ...]


def blob_name(digest: str) -> str:
    """In the object store, where it is never rewritten."""
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


class ArtifactNotFound(NotFound):
    code = "artifact.not_found"
    message = "There is no such artifact of this site."
    remedy = (
        "List those that can be deployed with `GET …/artifacts`; old ones that nothing uses are not kept."
    )


class SignatureInvalid(Conflict):
    code = "artifact.signature_invalid"
    message = "The artifact is not what its signature says: {reason}"
    remedy = "Nothing of it was served. Build again; if it goes on, the operator has to look at the builder."
