"""Releases as a build leaves them: packed, stored under their digests, signed; and their deployment."""

import asyncio
import tempfile
from pathlib import Path

from stead.artifacts import manifest
from stead.artifacts.packing import Packed, pack
from stead.artifacts.provenance import Provenance
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import NewArtifact, blob_name
from stead.control.deployments import service as deployments
from stead.control.deployments import workflows
from stead.control.platform.objects import Objects
from stead.control.platform.sealing import Sealer
from stead.shared.ids import new_id
from tests.faults.jobs.harness import Harness

BUCKET = "stead"
_AT_ONCE = asyncio.Semaphore(1)
"""The tests' own connections are few, and many sites are made ready together."""


async def store_of(harness: Harness) -> Objects:
    stack = harness.stack
    objects = Objects(
        stack.seaweedfs.endpoint, stack.secrets.s3_access_key, stack.secrets.s3_secret_key, BUCKET
    )
    await objects.prepare()
    return objects


async def released(harness: Harness, site: str, env: str, page: str) -> str:
    """The job that shows this page."""
    async with _AT_ONCE:
        artifact = await stored(harness, site, page)
        async with harness.database.transaction() as tx:
            return (await deployments.enqueue(tx, env, artifact, kind=workflows.DEPLOY)).id


async def stored(harness: Harness, site: str, page: str) -> str:
    """The artifact of a site that has this one page."""
    packed, layer = _packed(page)
    made = manifest.static(packed, manifest.Origin("urn:test", "c0ffee", "main"))
    contents = {packed.digest: layer, **{blob.digest: blob.content for blob in made}}
    objects = await store_of(harness)
    for digest, content in contents.items():
        await objects.put(blob_name(digest), content)
    sealer = Sealer.from_text(harness.stack.environment()["STEAD_SEALING_KEY"])
    async with harness.database.transaction() as tx:
        await artifacts.keep_blobs(tx, {digest: len(content) for digest, content in contents.items()})
        about = Provenance(
            made.manifest.digest, "urn:b", "urn:t", "urn:test", "c0ffee", {}, "test", tx.now, tx.now
        )
        envelope, key = await artifacts.sign(tx, sealer, about)
        new = NewArtifact(
            site,
            new_id("build"),
            made.manifest.digest,
            *(made.manifest.content, made.config.content, envelope, key, packed.digest, packed.size),
            *("main", "c0ffee", tuple(contents)),
        )
        return await artifacts.record(tx, new)


def _packed(page: str) -> tuple[Packed, bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        tree, layer = Path(scratch) / "tree", Path(scratch) / "layer"
        tree.mkdir()
        (tree / "index.html").write_text(page)
        with layer.open("wb") as file:
            packed = pack(tree, file)
        return packed, layer.read_bytes()
