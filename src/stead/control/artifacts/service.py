"""The use cases of artifacts, each inside the caller's transaction. Other features use this."""

from collections.abc import Mapping

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.refusals import ArtifactUntrusted
from stead.control.artifacts import signing_keys, store
from stead.control.artifacts.rules import (
    UNRECORDED_BLOBS_KEPT_FOR,
    Artifact,
    ArtifactNotFound,
    BlobSize,
    NewArtifact,
    SignatureInvalid,
    blob_name,
)
from stead.control.artifacts.schema import ArtifactView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.definition import NotYet, Refused
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner, StorageExhausted
from stead.control.sealing import Sealer
from stead.protocol.work.releases import EnsureRelease, LayerDownload
from stead.shared.ids import ArtifactId, has_shape
from stead.shared.runtimes import Runtime

BATCH_SIZE = 100


async def browse(tx: Tx, site: str, page: PageRequest) -> Page[ArtifactView]:
    return await store.page(tx, site, page)


async def find(tx: Tx, site: str, artifact: str) -> Artifact:
    """An artifact of this site. It cannot be removed before the transaction ends."""
    found = await store.find(tx, site, artifact) if has_shape("art", artifact) else None
    if found is None:
        raise ArtifactNotFound(param="artifact_id")
    return found


async def list_newest(tx: Tx, *, limit: int) -> list[Artifact]:
    """The newest artifacts of all sites; for the operator."""
    return await store.list_newest(tx, limit=limit)


async def get(tx: Tx, artifact: str) -> Artifact | None:
    return await store.get(tx, artifact)


async def record(tx: Tx, owner: Owner, new: NewArtifact) -> ArtifactId:
    """Record an artifact whose blobs are stored. Refused if a blob has been removed since, or if another
    build of the owner has used up the storage of the plan."""
    await plans.lock(tx, owner)
    if await store.lock_stored_blobs(tx, new.blobs) != len(set(new.blobs)):
        raise Refused(SignatureInvalid.code, str(SignatureInvalid(reason="its blobs were removed.")))
    artifact = await store.insert(tx, new)
    try:
        await ensure_storage(tx, owner, more=0)
    except StorageExhausted as full:
        raise Refused(full.code, str(full)) from None
    return artifact


async def ensure_storage(tx: Tx, owner: Owner, *, more: int = 1) -> None:
    """Ensure that the plan of the owner has room for so many more bytes: unused artifacts are removed, the
    oldest first. Raises StorageExhausted if that is not enough. Who catches it must undo what was removed."""
    while True:
        try:
            return await plans.require_storage(tx, owner, more=more)
        except StorageExhausted:
            unused = await store.list_unused(tx, _owner_id(owner), limit=BATCH_SIZE)
            if not any([await store.delete_if_unused(tx, artifact) for artifact in unused]):
                raise


async def ensure_storage_for_blobs(tx: Tx, owner: Owner, sizes: Mapping[str, BlobSize]) -> None:
    """Blobs that the owner has already need no additional storage."""
    new = await store.find_new_blobs(tx, _owner_id(owner), list(sizes))
    await ensure_storage(tx, owner, more=sum(sizes[digest].counted for digest in new))


def _owner_id(owner: Owner) -> str | None:
    return owner.team_id or owner.account_id


async def hold_blobs(tx: Tx, sizes: Mapping[str, BlobSize]) -> None:
    """Protect blobs that are being stored, until their artifact should be recorded.

    Call it before they are stored and again afterwards. Raises NotYet while another worker removes one of
    them. The order of the digests prevents deadlocks.
    """
    for digest, size in sorted(sizes.items()):
        if not await store.hold_blob(tx, digest, size.stored, until=tx.now + UNRECORDED_BLOBS_KEPT_FOR):
            raise NotYet


async def sign_provenance(tx: Tx, sealer: Sealer, about: provenance.Provenance) -> tuple[bytes, str]:
    """Returns the signed envelope and the id of the key."""
    key = await signing_keys.get_or_create(tx, sealer)
    return provenance.sign(about, key.private), key.id


async def build_release_work(tx: Tx, site: str, artifact: str, runtime: Runtime) -> EnsureRelease:
    """The work that brings an artifact to a node. Layers are named by their objects here; their URLs are
    signed when the command is sent."""
    found = await store.find(tx, site, artifact)
    if found is None:
        raise Refused(ArtifactNotFound.code, ArtifactNotFound.message)
    try:
        layers = manifest.read(found.manifest, found.config, digests.parse(found.digest)).layers
    except ArtifactUntrusted as untrusted:
        raise Refused(untrusted.code, str(SignatureInvalid(reason=f"{untrusted.reason}."))) from None
    return EnsureRelease(
        runtime=runtime,
        digest=found.digest,
        manifest=found.manifest,
        config=found.config,
        envelope=found.envelope,
        keys=await signing_keys.list_public_keys(tx),
        layers=tuple(LayerDownload(layer.digest, blob_name(layer.digest)) for layer in layers),
    )
