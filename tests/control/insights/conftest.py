"""An object store, and what carries chunks through it into ClickHouse."""

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from stead.control.app import ControlPlane
from stead.control.engines.nats import Nats
from stead.control.engines.object_store import ObjectStore
from stead.control.insights.chunk_store import count_stored
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.receiver import ChunkReceiver
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.running_stack import run_stack
from stead.protocol.subjects import Program
from stead.protocol.telemetry import Chunk, ChunkAnswer, ChunkReport
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.insights.recorded import chunk_of, log_chunk_of
from tests.control.served_site import ServedSite, create_served_site
from tests.enrolled_nodes import record_node

NODE = "node-1"
"""The node of the site that `create_served_site` makes."""


@pytest.fixture(scope="package")
async def objects() -> AsyncIterator[ObjectStore]:
    with tempfile.TemporaryDirectory(prefix="stead-insights-") as data:
        async with run_stack(Path(data), [SeaweedFS]) as stack:
            settings = stack.environment(Program.WORKER, [SeaweedFS])
            store = ObjectStore(
                settings["STEAD_S3_ENDPOINT"],
                settings["STEAD_S3_ACCESS_KEY"],
                settings["STEAD_S3_SECRET_KEY"],
                "insights",
            )
            await store.ensure_bucket()
            yield store


@dataclass
class Pipeline:
    """From a node's report to ClickHouse, without NATS."""

    plane: ControlPlane
    objects: ObjectStore
    receiver: ChunkReceiver
    ingestion: Ingestion

    async def report(
        self, chunk: Chunk | None, *, node: str = NODE, stored: bool = False, until: float = 0
    ) -> ChunkAnswer:
        report = ChunkReport(node, new_id("q"), until, chunk, stored)
        answer = await self.receiver.respond(report)
        assert answer is not None
        return answer

    async def deliver(self, chunk: Chunk, content: bytes, *, node: str = NODE) -> None:
        """As a node does it."""
        answer = await self.report(chunk, node=node)
        async with httpx.AsyncClient(timeout=60.0) as client:
            (await client.put(answer.url, content=content)).raise_for_status()
        assert (await self.report(chunk, node=node, stored=True)).recorded

    async def insert_all(self) -> None:
        while await self.ingestion.insert_next():
            pass

    async def insert_and_check(self) -> None:
        """Nothing waits afterwards."""
        with capture_logs() as lines:
            await self.insert_all()
        async with self.plane.database.reading() as tx:
            assert await count_stored(tx, 1) == 0, lines

    async def record(self, *lines: bytes, node: str = NODE) -> None:
        """These lines of a node's ledger arrive."""
        await self.deliver(*chunk_of(list(lines)), node=node)
        await self.insert_and_check()

    async def log(self, environment: str, text: str) -> None:
        """The application of the environment writes this to its log."""
        await self.deliver(*log_chunk_of(environment, text))
        await self.insert_and_check()


async def make_pipeline(plane: ControlPlane, objects: ObjectStore) -> Pipeline:
    """Nothing waits in it, and nothing is missing."""
    async with plane.database.transaction() as tx:
        await record_node(tx, region="us-east")
        await tx.run("delete from telemetry_chunks")
        await tx.run("delete from telemetry_gaps")
    nats = Nats("nats://127.0.0.1:1", user="", password="", program=Program.WORKER)
    receiver = ChunkReceiver(nats, plane.database, objects, wanted=True)
    return Pipeline(plane, objects, receiver, Ingestion(plane.database, objects, plane.clickhouse))


@pytest.fixture
async def pipeline(plane: ControlPlane, objects: ObjectStore) -> Pipeline:
    return await make_pipeline(plane, objects)


@pytest.fixture
async def site(plane: ControlPlane, new_person: NewPerson) -> ServedSite:
    return await create_served_site(plane, await new_person())
