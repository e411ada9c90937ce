"""What the worker sees for itself before it signs: the layer that the builder left is the one it told of."""

from collections.abc import Mapping

from stead.artifacts import digests, manifest
from stead.artifacts.packer import PackedLayer
from stead.artifacts.provenance import Provenance
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import SignatureInvalid, blob_name
from stead.control.builds import service
from stead.control.builds.jobs import BuildWork
from stead.control.builds.rules import (
    GIT,
    Build,
    Origin,
    UploadUnusable,
    staged_name,
    without_secrets,
)
from stead.control.engines.object_store import ObjectChanged, ObjectInfo, ObjectMissing
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import Refused, WorkerContext
from stead.control.jobs.kinds import Job
from stead.control.plans.rules import StorageExhausted
from stead.control.uploads.rules import MOST_BYTES, object_name
from stead.protocol.work import BuildResult

BUILDER = "urn:stead:builder:{builder}"
BUILD_TYPE = "urn:stead:build:{builder}:v1"


async def check_source(desk: WorkerContext, job: Job[BuildWork]) -> None:
    """An upload is there, and no larger than was allowed."""
    async with desk.database.reading() as tx:
        build = await service.get(tx, job.params.build)
    if not build.source.startswith("upl_"):
        return
    try:
        size = await desk.objects.size(object_name(build.source))
    except ObjectMissing:
        raise _unusable("nothing was sent to its address.") from None
    if size > MOST_BYTES:
        raise _unusable(f"it has {size} bytes, and {MOST_BYTES} are allowed.")


async def sign(desk: WorkerContext, job: Job[BuildWork]) -> None:
    """Reads the layer to its end, stores exactly that, and says in writing what it was made from."""
    async with desk.database.reading() as tx:
        build = await service.get(tx, job.params.build)
        origin = await service.origin_of(tx, build)
    facts = service.facts_of(build)
    seen = await _believed(desk, build, facts)
    packed = PackedLayer(
        seen.digest,
        seen.size,
        digests.parse(facts.diff_id),
        tar_size=0,
        files=facts.files,
        directories=0,
        content_bytes=facts.bytes,
    )
    source = source_of(build, origin)
    made = manifest.make_static_manifest(
        packed, manifest.ArtifactOrigin(source, build.commit or "", build.ref or "")
    )
    sizes: dict[str, int] = {seen.digest: seen.size}
    sizes.update((blob.digest, len(blob.content)) for blob in made)
    async with desk.database.transaction() as tx:
        await _require_room(tx, origin, sizes)
        await artifacts.hold_blobs(tx, sizes)
        try:
            await desk.objects.copy(seen, staged_name(build.id), blob_name(seen.digest))
        except (ObjectChanged, ObjectMissing):
            raise _untrusted("the layer was exchanged while it was looked at.") from None
        for blob in made:
            await desk.objects.put(blob_name(blob.digest), blob.content)
        await artifacts.keep_blobs(tx, sizes)
        about = _provenance(build, source, made.manifest.digest, tx)
        envelope, key = await artifacts.sign(tx, desk.sealer, about)
        await service.made(
            tx,
            build.id,
            manifest=made.manifest.content,
            config=made.config.content,
            envelope=envelope,
            key_id=key,
        )


def source_of(build: Build, origin: Origin) -> str:
    """As it can be told to anybody."""
    if build.source == GIT:
        repository = without_secrets(origin.git_repo or "")
        return f"git+{repository}" if "://" in repository else f"git+ssh://{repository}"
    return without_secrets(build.source) if "://" in build.source else f"urn:stead:upload:{build.source}"


async def _believed(desk: WorkerContext, build: Build, facts: BuildResult) -> ObjectInfo:
    if build.source == GIT and not facts.commit:
        raise _untrusted("the builder does not say which commit it built.")
    try:
        digests.parse(facts.diff_id)
        seen = await desk.objects.inspect(staged_name(build.id))
    except ValueError:
        raise _untrusted("the builder does not say what the layer holds.") from None
    except ObjectMissing:
        raise _untrusted("the builder left no layer.") from None
    if (seen.digest, seen.size) != (facts.digest, facts.size):
        raise _untrusted("the layer that was left is another one than the builder says.")
    return seen


async def _require_room(tx: Tx, origin: Origin, sizes: Mapping[str, int]) -> None:
    try:
        await artifacts.make_room_for(tx, origin.owner, sizes)
    except StorageExhausted as full:
        raise Refused(full.code, str(full)) from None


def _provenance(build: Build, source: str, digest: digests.Digest, tx: Tx) -> Provenance:
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
