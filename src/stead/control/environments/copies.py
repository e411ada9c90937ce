"""Whether what an environment shows could be brought back: read from the object store, not assumed."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.refusals import ArtifactUntrusted
from stead.control.deployments import service as deployments
from stead.control.engines.object_store import ObjectMissing, ObjectStore
from stead.control.environments.push_rules import BackupUnverified
from stead.control.jobs.definition import Refused, WorkerContext
from stead.protocol.work import EnsureRelease


async def verify(desk: WorkerContext, environment: str) -> None:
    """Refused unless every byte of it is there and as it was signed. The placeholder is on every node."""
    async with desk.database.transaction() as tx:
        shown = await deployments.release_work(tx, environment)
    if shown is not None:
        await _check(shown, desk.objects)


async def _check(shown: EnsureRelease, objects: ObjectStore) -> None:
    try:
        digest = digests.parse(shown.digest)
        provenance.verify(
            shown.envelope, [Ed25519PublicKey.from_public_bytes(raw) for raw in shown.keys], digest
        )
        layers = manifest.read(shown.manifest, shown.config, digest).layers
    except ArtifactUntrusted as untrusted:
        raise _unverified(untrusted.reason) from None
    for layer, stored in zip(layers, shown.layers, strict=True):
        try:
            seen = await objects.inspect(stored.url)
        except ObjectMissing:
            raise _unverified("a part of it is not in the object store.") from None
        if (seen.digest, seen.size) != (layer.digest, layer.size):
            raise _unverified("a part of it is not what its digest says.")


def _unverified(reason: str) -> Refused:
    return Refused(BackupUnverified.code, str(BackupUnverified(reason=reason)))
