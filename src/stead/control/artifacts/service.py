"""What other features do with artifacts."""

from collections.abc import Iterable, Mapping

from stead.artifacts import digests, manifest, provenance
from stead.artifacts.refusals import ArtifactUntrusted
from stead.control.artifacts import keyring, store
from stead.control.artifacts.rules import (
    HELD_FOR,
    Artifact,
    ArtifactNotFound,
    NewArtifact,
    SignatureInvalid,
    blob_name,
)
from stead.control.artifacts.schema import ArtifactView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.definition import Refused
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner, StorageExhausted
from stead.control.sealing import Sealer
from stead.protocol.work import EnsureRelease, LayerDownload
from stead.shared.ids import ArtifactId, has_shape
from stead.shared.runtimes import Runtime

AT_ONCE = 100


async def browse(tx: Tx, site: str, page: PageRequest) -> Page[ArtifactView]:
    return await store.page(tx, site, page)


async def find(tx: Tx, site: str, artifact: str) -> Artifact:
    """An artifact of this site; it is not removed before the transaction has ended."""
    found = await store.find(tx, site, artifact) if has_shape("art", artifact) else None
    if found is None:
        raise ArtifactNotFound(param="artifact_id")
    return found


async def newest(tx: Tx, *, most: int) -> list[Artifact]:
    """Of all sites; for the operator."""
    return await store.newest(tx, most=most)


async def get(tx: Tx, artifact: str) -> Artifact | None:
    return await store.get(tx, artifact)


async def record(tx: Tx, owner: Owner, new: NewArtifact) -> ArtifactId:
    """Once its blobs are stored; refused if they have been removed since, or if another build of the owner's
    has taken their room."""
    await plans.hold(tx, owner)
    if await store.blobs_there(tx, new.blobs) != len(set(new.blobs)):
        raise Refused(
            SignatureInvalid.code, str(SignatureInvalid(reason="its blobs are not there any more."))
        )
    made = await store.insert(tx, new)
    try:
        await make_room(tx, owner, more=0)
    except StorageExhausted as full:
        raise Refused(full.code, str(full)) from None
    return made


async def make_room(tx: Tx, owner: Owner, *, more: int = 1) -> None:
    """So many bytes more fit into the owner's plan; what nothing uses goes for it, the oldest first. Else
    refused, and then nothing is gone."""
    while True:
        try:
            return await plans.require_storage(tx, owner, more=more)
        except StorageExhausted:
            unused = await store.unused(tx, most=AT_ONCE, owner=_id(owner))
            if not unused or not any([await store.drop(tx, artifact) for artifact in unused]):
                raise


async def make_room_for(tx: Tx, owner: Owner, sizes: Mapping[str, int]) -> None:
    """These blobs fit; what the owner has of them already takes no more room."""
    new = await store.new_blobs(tx, _id(owner), list(sizes))
    await make_room(tx, owner, more=sum(sizes[digest] for digest in new))


def _id(owner: Owner) -> str | None:
    return owner.team_id or owner.account_id


async def hold_blobs(tx: Tx, digests_: Iterable[str]) -> None:
    """Nobody else stores or removes these until the transaction has ended."""
    for digest in sorted(set(digests_)):
        await store.hold_blob(tx, digest)


async def keep_blobs(tx: Tx, sizes: Mapping[str, int]) -> None:
    """They are in the object store, and wait there for their artifact to be recorded."""
    for digest, size in sorted(sizes.items()):
        await store.keep_blob(tx, digest, size, until=tx.now + HELD_FOR)


async def sign(tx: Tx, sealer: Sealer, about: provenance.Provenance) -> tuple[bytes, str]:
    """The envelope, and which key signed it."""
    key = await keyring.current(tx, sealer)
    return provenance.sign(about, key.private), key.id


async def build_release_work(tx: Tx, site: str, artifact: str, runtime: Runtime) -> EnsureRelease:
    """What a node is asked for. Where an address belongs is the name of an object: whoever asks signs it."""
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
        keys=await keyring.public_keys(tx),
        layers=tuple(LayerDownload(layer.digest, blob_name(layer.digest)) for layer in layers),
    )
