"""Work that fetches a release."""

from typing import ClassVar

from stead.protocol.work.base import RuntimeWork, WorkStruct


class LayerDownload(WorkStruct, frozen=True):
    secret_fields: ClassVar[tuple[str, ...]] = ("url",)

    digest: str
    url: str
    """Where to download it; signed by the control plane."""


class EnsureRelease(RuntimeWork, frozen=True, tag="ensure_release"):
    """The artifact is on this node, verified, as the release `release_of(digest)`. The environment's latest
    earlier releases stay, and so does every release that an edge record names."""

    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    """The provenance of the artifact, signed by one of `keys`."""
    keys: tuple[bytes, ...]
    """Raw Ed25519 public keys of the installation."""
    layers: tuple[LayerDownload, ...]


def release_of(digest: str) -> str:
    """The name of an artifact's directory on a node, and in the records of the edge."""
    return digest.removeprefix("sha256:")
