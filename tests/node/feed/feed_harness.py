"""A harness for the node's side of the edge feed."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.nats import Nats
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.stack import Stack
from stead.node.feed.feed import EdgeFeedClient
from stead.node.nats_connection import NatsConnection
from stead.protocol.edge_records import EdgeRecord, HostRecord, host_key
from stead.protocol.subjects import Program
from tests.node.feed.fake_nginx import FakeNginx, start_fake_nginx
from tests.node.harness import NodeHarness


@dataclass
class FeedHarness:
    stage: NodeHarness
    region: str
    nginx: FakeNginx
    edges: EdgeFeed

    @property
    def node(self) -> str:
        return self.stage.node.id

    def hosts(self, count: int, environment: str = "env_1", start: int = 0) -> dict[str, EdgeRecord | None]:
        return {self.host(number): HostRecord(environment) for number in range(start, start + count)}

    def host(self, number: int) -> str:
        return host_key(self.region, f"h{number}.example.com")

    def missing_hosts(self, count: int) -> list[int]:
        return [each for each in range(count) if not self.nginx.has("host", f"h{each}.example.com")]

    async def put(self, records: Mapping[str, EdgeRecord | None]) -> int:
        return await self.edges.put(records)

    async def applied(self, revision: int, within: float = 20.0) -> None:
        await self.edges.wait_until_applied(self.region, [self.node], revision, within)

    @asynccontextmanager
    async def feeding(self, **changed: str) -> AsyncIterator[EdgeFeedClient]:
        """Run the node's feed in this process."""
        settings = self.stage.as_settings(**changed)
        settings.data.mkdir(exist_ok=True)
        link = NatsConnection(settings)
        async with link.keep_open():
            feed = EdgeFeedClient(settings, link)
            task = asyncio.create_task(feed.run())
            try:
                yield feed
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def stored(self) -> dict[str, bytes]:
        with contextlib.closing(sqlite3.connect(self.stage.data / "edge.sqlite")) as database:
            rows = database.execute("select key, value from records where value is not null")
            return dict(rows.fetchall())

    def position(self) -> int:
        with contextlib.closing(sqlite3.connect(self.stage.data / "edge.sqlite")) as database:
            return int(database.execute("select position from progress").fetchone()[0])


@asynccontextmanager
async def worker_connection(stack: Stack) -> AsyncIterator[Nats]:
    """A NATS connection with the login of a worker."""
    login = stack[NatsServer].login(Program.WORKER)
    worker = Nats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    worker.start()
    await worker.ready()
    try:
        yield worker
    finally:
        await worker.stop()


@asynccontextmanager
async def start_feed_harness(stage: NodeHarness, region: str) -> AsyncIterator[FeedHarness]:
    stage.data.mkdir(exist_ok=True)
    async with worker_connection(stage.stack) as worker, start_fake_nginx(stage.data) as nginx:
        yield FeedHarness(stage, region, nginx, EdgeFeed(worker))
