"""Sites, artifacts like those of a builder, and what visitors see, on a complete installation."""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec

from stead.artifacts.limits import LAYER, SizeLimits
from stead.artifacts.packer import PackedLayer, pack_layer
from stead.control.builds import service as builds
from stead.control.builds import signing, store, workflows
from stead.control.builds.jobs import BuildWork
from stead.control.builds.rules import staged_object_name
from stead.control.engines.object_store import ObjectStore
from stead.control.jobs.definition import Refused, WorkerContext
from stead.control.jobs.kinds import Job
from stead.control.sealing import Sealer
from stead.control.settings import Settings, from_environment, object_store_of
from stead.dev.engines.nginx import Nginx
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program as Role
from stead.protocol.work.builds import BuildResult
from stead.shared.ids import new_id
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import STEADCTL
from tests.preloaded.processes import run

Files = dict[str, str]
_NOW = datetime.now(UTC)


@dataclass(frozen=True)
class Site:
    id: str
    env: str
    domain: str

    @property
    def path(self) -> str:
        return f"/v1/sites/{self.id}/environments/{self.env}"


class Delivery:
    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.settings: Settings = from_environment(harness.stack.environment(Role.WORKER))
        self.objects: ObjectStore = object_store_of(self.settings)
        sealer = Sealer.from_text(self.settings.sealing_key)
        self.desk = WorkerContext(harness.database, self.objects, sealer, None)
        self.started = _NOW
        self.visitor = httpx.AsyncClient(timeout=10, limits=httpx.Limits(max_keepalive_connections=0))

    @property
    def releases(self) -> set[str]:
        """The complete and the incomplete releases on the node."""
        return {path.name for path in (self.harness.node.data / "releases").iterdir()}

    @property
    def edge(self) -> str:
        return self.harness.stack[Nginx].address

    async def site(self, mode: str = "live", **more: Any) -> Site:
        self.harness.speak_as(mode)  # type: ignore[arg-type]
        domain = f"{new_id('d').removeprefix('d_')}.example.com"
        job = await self.ended("POST", "/v1/sites", {"domain": domain, "profile": "static", **more})
        assert job["status"] == "succeeded", job["error"]
        return Site(job["resource"]["site_id"], job["result"]["env_id"], domain)

    async def ended(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send a request that starts a job, and return the job once it has ended."""
        job = await self.harness.ask(method, path, body)
        await self.harness.ended(job["id"])
        return await self.job(job["id"])

    async def job(self, job: str) -> dict[str, Any]:
        return await self.harness.ask("GET", f"/v1/jobs/{job}", status=200)

    async def upload(self, site: Site, *, size: int) -> dict[str, Any]:
        return await self.harness.ask(
            "POST", f"/v1/sites/{site.id}/uploads", {"size_bytes": size}, status=201
        )

    async def get(self, path: str) -> Any:
        answer = await self.harness.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def deployed(self, site: Site, artifact: str) -> dict[str, Any]:
        return await self.ended("POST", f"{site.path}/deployments", {"artifact_id": artifact})

    async def visit(self, site: Site, path: str = "/", **headers: str) -> httpx.Response:
        named = {"host": site.domain} | {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.visitor.get(f"http://{self.edge}{path}", headers=named)

    async def artifact(self, site: Site, files: Files) -> str:
        """Build it here instead of on a node; it is inspected and signed like every build."""
        build, _ = await self.staged(site, files)
        return await self.signed(build)

    async def staged(
        self, site: Site, files: Files, /, *, limits: SizeLimits = LAYER, **lies: Any
    ) -> tuple[str, PackedLayer]:
        """Insert a build whose node has uploaded its layer and reported this, true or not."""
        async with self.harness.database.transaction() as tx:
            build = await store.insert(
                tx,
                *(site.id, site.env),
                builder="static",
                source="https://example.com/site.tar.gz?token=secret",
                ref=None,
                commit=None,
                auto_deploy=False,
                pushed=False,
            )
            await builds.set_node(tx, build, "node-of-the-test")
            await builds.set_status(tx, build, "running")
        packed, layer = await asyncio.to_thread(_packed, files, limits)
        await self.objects.put(staged_object_name(build), layer)
        facts = BuildResult(
            *(packed.digest, packed.size, packed.diff_id, packed.files, packed.content_bytes),
            directories=packed.directories,
        )
        async with self.harness.database.transaction() as tx:
            said = msgspec.structs.replace(facts, **lies)
            await builds.record_result(tx, await builds.get(tx, build), said)
        return build, packed

    async def signed(self, build: str, objects: ObjectStore | None = None) -> str:
        """Return the artifact, or raise the error with which the job would fail."""
        job = Job("job_1", "", None, BuildWork(build), _NOW)
        await signing.sign_artifact(replace(self.desk, objects=objects or self.objects), job)
        async with self.harness.database.transaction() as tx:
            return str((await workflows._finish(tx, job))["artifact_id"])

    async def refusal(self, build: str) -> Refused:
        try:
            await self.signed(build)
        except Refused as refused:
            return refused
        raise AssertionError("it was signed")

    async def digest(self, artifact: str) -> str:
        ((digest,),) = await self.harness.sql("select digest from artifacts where id = $1", artifact)
        return str(digest)

    async def layer(self, artifact: str) -> str:
        ((digest,),) = await self.harness.sql("select layer_digest from artifacts where id = $1", artifact)
        return str(digest)

    async def staging(self, site: Site) -> Site:
        """Insert a second environment on the same node, as it is after its creation."""
        ((node,),) = await self.harness.sql("select node_id from environments where id = $1", site.env)
        env = new_id("env")
        subdomain = f"{env.replace('_', '-')}.preview.example"
        await self.harness.sql(
            "insert into environments (id, site_id, type, subdomain, status, node_id, created_at)"
            " values ($1, $2, 'staging', $3, 'running', $4, now())",
            *(env, site.id, subdomain, node),
        )
        (self.harness.node.data / "environments" / env).mkdir()
        return replace(site, env=env, domain=subdomain)

    async def steadctl(self, *words: str, code: int = 0) -> str:
        environment = clean_environment(self.harness.stack.environment(Role.WORKER))
        done = await run([*STEADCTL, *words], env=environment)
        assert done.code == code, done.errors
        return (done.output or done.errors).strip()


def _packed(files: Files, limits: SizeLimits) -> tuple[PackedLayer, bytes]:
    place = Path(tempfile.mkdtemp(prefix="stead-tree-"))
    try:
        for name, content in files.items():
            path = place / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        with (place / "layer").open("wb") as file:
            packed = pack_layer(place / "tree", file, limits)
        return packed, (place / "layer").read_bytes()
    finally:
        shutil.rmtree(place)
