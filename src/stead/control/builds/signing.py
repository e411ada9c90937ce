"""Verifying and signing the result of a build. The worker trusts no builder: it reads the layer itself."""

from collections.abc import Mapping

from stead.artifacts import digests, manifest
from stead.artifacts.limits import LAYER
from stead.artifacts.manifest import ManifestBlobs
from stead.artifacts.packer import PackedLayer
from stead.artifacts.provenance import Provenance
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import BlobSize, SignatureInvalid, blob_name
from stead.control.builds import service
from stead.control.builds.jobs import BuildWork
from stead.control.builds.rules import (
    GIT,
    Build,
    BuildContext,
    UploadUnusable,
    staged_object_name,
    strip_credentials,
)
from stead.control.engines.object_store import ObjectChanged, ObjectInfo, ObjectMissing, ObjectStore
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import Refused, WorkerContext
from stead.control.jobs.kinds import Job
from stead.control.plans.rules import StorageExhausted
from stead.control.uploads import service as uploads
from stead.control.uploads.rules import object_name
from stead.protocol.work.builds import BuildResult

BUILDER = "urn:stead:builder:{builder}"
BUILD_TYPE = "urn:stead:build:{builder}:v1"


async def verify_upload(context: WorkerContext, job: Job[BuildWork]) -> None:
    """A build from an upload needs an archive that was sent and has the size that was declared."""
    async with context.database.reading() as tx:
        build = await service.get(tx, job.params.build)
        if not build.source.startswith("upl_"):
            return
        declared = await uploads.declared_size(tx, build.source)
    try:
        size = await context.objects.size(object_name(build.source))
    except ObjectMissing:
        raise _unusable("no archive was sent to its URL.") from None
    if declared and size != declared:  # uploads from before sizes were declared have none
        raise _unusable(f"it has {size} bytes, and {declared} were declared.")


async def sign_artifact(context: WorkerContext, job: Job[BuildWork]) -> None:
    """Verify the staged layer, store exactly these bytes, and sign the provenance of the artifact."""
    async with context.database.reading() as tx:
        build = await service.get(tx, job.params.build)
        site = await service.get_context(tx, build)
    result = service.get_result(build)
    if result.unchanged:
        return
    layer = await _verify_layer(context, build, result)
    source = describe_source(build, site)
    packed = _packed_layer(layer, result)
    blobs = _make_manifest(build, source, packed)
    sizes: dict[str, BlobSize] = {layer.digest: BlobSize(layer.size, packed.unpacked_bytes)}
    sizes.update((blob.digest, BlobSize(len(blob.content))) for blob in blobs)
    async with context.database.transaction() as tx:
        await _require_storage(tx, site, sizes)
        await artifacts.hold_blobs(tx, sizes)
    # No other worker removes them now, so this may take its time.
    await _store_objects(context.objects, build, layer, blobs)
    async with context.database.transaction() as tx:
        await artifacts.hold_blobs(tx, sizes)
        about = _build_provenance(build, source, blobs.manifest.digest, tx)
        envelope, key = await artifacts.sign_provenance(tx, context.sealer, about)
        await service.record_signed(
            tx,
            build.id,
            manifest=blobs.manifest.content,
            config=blobs.config.content,
            envelope=envelope,
            key_id=key,
        )


def _packed_layer(layer: ObjectInfo, result: BuildResult) -> PackedLayer:
    """The builder's word for how much the layer contains becomes part of the signed manifest: nodes refuse
    to unpack more. So a builder that says too little only makes its artifact useless. What it says too much
    counts only toward the storage of this site's owner, and is limited like every layer."""
    entries = result.files + result.directories
    if min(result.files, result.directories, result.bytes) < 0:
        raise _untrusted("the builder reported a negative size.")
    if result.bytes > LAYER.total_bytes or entries > LAYER.entries:
        raise _untrusted("the builder reported more than a layer may contain.")
    return PackedLayer(
        layer.digest,
        layer.size,
        digests.parse(result.diff_id),
        tar_size=0,
        files=result.files,
        directories=result.directories,
        content_bytes=result.bytes,
    )


def _make_manifest(build: Build, source: str, packed: PackedLayer) -> ManifestBlobs:
    origin = manifest.ArtifactOrigin(source, build.commit or "", build.ref or "")
    return manifest.make_manifest(packed, origin, build.builder)


async def _store_objects(objects: ObjectStore, build: Build, layer: ObjectInfo, blobs: ManifestBlobs) -> None:
    try:
        await objects.copy(layer, staged_object_name(build.id), blob_name(layer.digest))
    except (ObjectChanged, ObjectMissing):
        raise _untrusted("the layer changed while it was being verified.") from None
    for blob in blobs:
        await objects.put(blob_name(blob.digest), blob.content)


def describe_source(build: Build, site: BuildContext) -> str:
    """The source of a build as its provenance names it, without credentials."""
    if build.function_id is not None:
        return f"urn:stead:function:{build.function_id}"
    if build.source == GIT:
        repository = strip_credentials(site.git_repo or "")
        return f"git+{repository}" if "://" in repository else f"git+ssh://{repository}"
    return strip_credentials(build.source) if "://" in build.source else f"urn:stead:upload:{build.source}"


async def _verify_layer(context: WorkerContext, build: Build, result: BuildResult) -> ObjectInfo:
    """The staged layer is the one that the builder reported."""
    if build.source == GIT and not result.commit:
        raise _untrusted("the builder did not report which commit it built.")
    try:
        digests.parse(result.diff_id)
        layer = await context.objects.inspect(staged_object_name(build.id))
    except ValueError:
        raise _untrusted("the builder did not report the content of the layer.") from None
    except ObjectMissing:
        raise _untrusted("the builder stored no layer.") from None
    if (layer.digest, layer.size) != (result.digest, result.size):
        raise _untrusted("the stored layer is not the one that the builder reported.")
    return layer


async def _require_storage(tx: Tx, site: BuildContext, sizes: Mapping[str, BlobSize]) -> None:
    try:
        await artifacts.ensure_storage_for_blobs(tx, site.owner, sizes)
    except StorageExhausted as full:
        raise Refused(full.code, str(full)) from None


def _build_provenance(build: Build, source: str, digest: digests.Digest, tx: Tx) -> Provenance:
    return Provenance(
        artifact=digest,
        builder=BUILDER.format(builder=build.builder),
        build_type=BUILD_TYPE.format(builder=build.builder),
        source=f"{source}@{build.ref}" if build.ref else source,
        commit=build.commit or "",
        parameters={"site": build.site_id, "environment": build.env_id, "node": build.node_id or ""},
        invocation=build.id,
        started=build.started_at or tx.now,
        finished=tx.now,
    )


def _untrusted(reason: str) -> Refused:
    return Refused(SignatureInvalid.code, str(SignatureInvalid(reason=reason)))


def _unusable(reason: str) -> Refused:
    return Refused(UploadUnusable.code, str(UploadUnusable(reason=reason)))
