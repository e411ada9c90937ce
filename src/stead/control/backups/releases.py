"""Whether a release could be deployed again: read from the object store, not assumed."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.refusals import ArtifactUntrusted
from stead.control.backups.rules import BackupUnverified
from stead.control.engines.object_store import ObjectMissing, ObjectStore
from stead.control.jobs.definition import Refused
from stead.protocol.work.releases import EnsureRelease


async def verify_release(release: EnsureRelease, objects: ObjectStore) -> None:
    """Every byte of the release is stored as it was signed. Otherwise raises Refused."""
    try:
        digest = digests.parse(release.digest)
        keys = [Ed25519PublicKey.from_public_bytes(raw) for raw in release.keys]
        provenance.verify(release.envelope, keys, digest)
        layers = manifest.read(release.manifest, release.config, digest).layers
    except ArtifactUntrusted as untrusted:
        raise _unverified(untrusted.reason) from None
    for layer, stored in zip(layers, release.layers, strict=True):
        try:
            found = await objects.inspect(stored.url)
        except ObjectMissing:
            raise _unverified("a part of the release is missing from the object store.") from None
        if (found.digest, found.size) != (layer.digest, layer.size):
            raise _unverified("a stored part of the release does not match its digest.")


def _unverified(reason: str) -> Refused:
    return Refused(BackupUnverified.code, str(BackupUnverified(reason=reason)))
