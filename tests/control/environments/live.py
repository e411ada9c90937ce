"""The whole of Stead as processes, an object store among them, and releases that were really signed."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from stead.artifacts import manifest
from stead.artifacts.packing import pack
from stead.artifacts.provenance import Provenance
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import NewArtifact, blob_name
from stead.control.deployments import service as deployments
from stead.control.deployments import workflows as deployment_jobs
from stead.control.platform.objects import Objects
from stead.control.platform.sealing import Sealer
from stead.dev.nats import Nats
from stead.dev.nginx import Nginx
from stead.dev.postgres import Postgres
from stead.dev.redis import Redis
from stead.dev.running import running
from stead.dev.seaweedfs import SeaweedFS
from stead.dev.stack import NODE
from stead.dev.temporal import Temporal
from stead.shared.ids import new_id
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until

ENGINES = [Postgres, Redis, Nats, Temporal, SeaweedFS, Nginx]
BUCKET = "stead"


@dataclass
class Live:
    harness: Harness
    objects: Objects
    scratch: Path

    async def do(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A job that ends well."""
        job = await self.tried(method, path, body)
        assert job["status"] == "succeeded", job["error"]
        return job

    async def tried(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A job that has ended."""
        job = await self.harness.ask(method, path, body)
        await self.harness.ended(job["id"])
        return await self.harness.ask("GET", f"/v1/jobs/{job['id']}", status=200)

    async def site(self) -> tuple[str, str]:
        domain = f"{new_id('site').removeprefix('site_')}.example.com"
        job = await self.do("POST", "/v1/sites", {"domain": domain, "profile": "static"})
        return job["resource"]["site_id"], domain

    async def read(self, site: str, env: str) -> dict[str, Any]:
        return await self.harness.ask("GET", f"/v1/sites/{site}/environments/{env}", status=200)

    async def visit(self, host: str, path: str = "/") -> httpx.Response:
        async with httpx.AsyncClient() as client:
            return await client.get(
                f"http://{self.harness.stack.nginx.address}{path}", headers={"Host": host}
            )

    async def artifact(self, site: str, page: str) -> str:
        """As a build leaves it: packed, stored under its digests, signed."""
        tree = Path(tempfile.mkdtemp(dir=self.scratch))
        (tree / "index.html").write_text(page)
        layer = self.scratch / f"{tree.name}.layer"
        with layer.open("wb") as file:
            packed = pack(tree, file)
        made = manifest.static(packed, manifest.Origin("urn:test", "c0ffee", "main"))
        contents = {packed.digest: layer.read_bytes(), **{blob.digest: blob.content for blob in made}}
        for digest, content in contents.items():
            await self.objects.put(blob_name(digest), content)
        sealer = Sealer.from_text(self.harness.stack.environment()["STEAD_SEALING_KEY"])
        async with self.harness.database.transaction() as tx:
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

    async def deploy(self, site: str, env: str, page: str) -> str:
        """The layer of what is shown from now on."""
        artifact = await self.artifact(site, page)
        async with self.harness.database.transaction() as tx:
            job = await deployments.enqueue(tx, env, artifact, kind=deployment_jobs.DEPLOY)
            layer: str = await tx.value("select layer_digest from artifacts where id = $1", artifact)
        await self.harness.ended(job.id)
        ((status, error),) = await self.harness.sql("select status, error from jobs where id = $1", job.id)
        assert status == "succeeded", error
        return layer


def _home() -> Path:
    # Not pytest's own temporary directory: PostgreSQL's user could not enter it.
    data = Path(tempfile.mkdtemp(prefix="stead-environments-"))
    data.chmod(0o711)
    return data


@asynccontextmanager
async def everything() -> AsyncIterator[Live]:
    data = _home()
    try:
        async with running(data, ENGINES) as stack:
            await stack.add_node(NODE)
            harness = Harness(stack)
            objects = Objects(
                stack.seaweedfs.endpoint, stack.secrets.s3_access_key, stack.secrets.s3_secret_key, BUCKET
            )
            scratch = data / "scratch"
            scratch.mkdir()
            try:
                await harness.begin()
                harness.speak_as("live")
                await objects.prepare()
                await harness.node.program.stop()
                harness.node.program.start(STEAD_SANDBOX_SECONDS="0", STEAD_VISITS_SECONDS="0.5")
                await until(lambda: harness.sql("select from nodes"), "the node has been heard")
                yield Live(harness, objects, scratch)
            finally:
                await harness.end()
    finally:
        await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)
