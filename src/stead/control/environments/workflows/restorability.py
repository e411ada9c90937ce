"""Whether the release that production serves could be restored: read from the object store, not assumed."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.refusals import ArtifactUntrusted
from stead.control.deployments import service as deployments
from stead.control.engines.object_store import ObjectMissing, ObjectStore
from stead.control.environments import service as environments
from stead.control.environments.rules import BackupUnverified
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import Refused, WorkerContext
from stead.protocol.work import EnsureRelease


async def verify_production(context: WorkerContext, job: EnvironmentJob) -> None:
    """Refuse the push unless a rollback is possible: every byte of the current release is stored as it was
    signed. The placeholder page needs no check; every node has it."""
    async with context.database.transaction() as tx:
        production = await environments.get_production(tx, job.site_id)
        release = await deployments.find_live_release(tx, production.id)
    if release is not None:
        await _verify_release(release, context.objects)


async def _verify_release(release: EnsureRelease, objects: ObjectStore) -> None:
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
            raise _unverified("a part of it is missing from the object store.") from None
        if (found.digest, found.size) != (layer.digest, layer.size):
            raise _unverified("a stored part does not match its digest.")


def _unverified(reason: str) -> Refused:
    return Refused(BackupUnverified.code, str(BackupUnverified(reason=reason)))
