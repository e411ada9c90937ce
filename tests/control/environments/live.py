"""A complete installation with an object store, and releases that are really signed."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from stead.control.engines.object_store import ObjectStore
from stead.dev.engines.nats import Nats
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal
from stead.dev.local_node import LOCAL_NODE
from stead.dev.programs import Repositories
from stead.dev.running_stack import run_stack
from stead.dev.supervised_program import SupervisedProgram
from stead.shared.ids import new_id
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until

ENGINES: list[type[SupervisedProgram]] = [Postgres, Redis, Nats, Temporal, SeaweedFS, Nginx, Repositories]


@dataclass
class Live:
    harness: Harness
    delivery: Delivery

    @property
    def objects(self) -> ObjectStore:
        return self.delivery.objects

    async def complete(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Performs an action whose job must succeed."""
        job = await self.run_job(method, path, body)
        assert job["status"] == "succeeded", job["error"]
        return job

    async def run_job(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Performs an action and returns its finished job."""
        job = await self.harness.ask(method, path, body)
        await self.harness.ended(job["id"])
        return await self.harness.ask("GET", f"/v1/jobs/{job['id']}", status=200)

    async def create_site(self) -> tuple[str, str]:
        domain = f"{new_id('site').removeprefix('site_')}.example.com"
        job = await self.complete("POST", "/v1/sites", {"domain": domain, "profile": "static"})
        return job["resource"]["site_id"], domain

    async def read(self, site: str, env: str) -> dict[str, Any]:
        return await self.harness.ask("GET", f"/v1/sites/{site}/environments/{env}", status=200)

    async def visit(self, host: str, path: str = "/") -> httpx.Response:
        async with httpx.AsyncClient(timeout=60.0) as client:
            return await client.get(
                f"http://{self.harness.stack[Nginx].address}{path}", headers={"Host": host}
            )

    async def deploy(self, site: str, env: str, page: str) -> str:
        """Deploys a page. Returns the digest of its layer."""
        target = Site(site, env, "")
        artifact = await self.delivery.artifact(target, {"index.html": page})
        job = await self.delivery.deployed(target, artifact)
        assert job["status"] == "succeeded", job["error"]
        return await self.delivery.layer(artifact)


def _data_directory() -> Path:
    # Not pytest's own temporary directory: PostgreSQL's user could not enter it.
    data = Path(tempfile.mkdtemp(prefix="stead-environments-"))
    data.chmod(0o711)
    return data


@asynccontextmanager
async def start_installation() -> AsyncIterator[Live]:
    data = _data_directory()
    try:
        async with run_stack(data, ENGINES) as stack:
            await stack.add_node(LOCAL_NODE)
            harness = Harness(stack)
            try:
                await harness.begin()
                harness.speak_as("live")
                delivery = Delivery(harness)
                await delivery.objects.ensure_bucket()
                await harness.node.program.stop()
                harness.node.program.start(STEAD_SIMULATOR_SECONDS="0", STEAD_VISITS_SECONDS="0.5")
                await until(
                    lambda: harness.sql("select from nodes where last_seen_at is not null"),
                    "the node has sent a heartbeat",
                )
                yield Live(harness, delivery)
            finally:
                await harness.end()
    finally:
        await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)
