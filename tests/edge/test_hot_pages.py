"""The node keeps the most visited pages of awake environments in the cache of its edge."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from stead.edge.admin import NodePurge
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.node.hot_pages import HotPages, VisitedPages
from stead.node.visits import LedgerReader
from stead.protocol.edge_records import (
    EnvironmentRecord,
    HostRecord,
    PurgeRecord,
    environment_key,
    host_key,
    purge_key,
)
from tests.edge.edge_harness import BOUND, NODE, POLL, EdgeHarness
from tests.edge.fastcgi import Application, Reply, Request
from tests.patience import time_limit

REGION, INTERVAL = "here", 240
HOT = EnvironmentRecord(
    "site_hot", NODE, runtime="cms", waf="off", cache_ttl=600, hot_pages=2, hot_ttl=300, hot_interval=INTERVAL
)


@dataclass
class Node:
    """The part of a node that keeps pages warm; a test sets its clock, and which environments are awake."""

    edge: EdgeHarness
    store: RecordStore
    path: Path
    now: float = 1_000.0
    counted: int = 0
    own_purges: int = 0
    awake: set[str] = field(default_factory=lambda: {"env_hot"})
    revisions: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.visited = VisitedPages()
        self.ledger = LedgerReader(self.edge.ledger, self.count)
        self.ledger.read_new()
        self.visited.take()
        self.counted = 0
        socket = self.edge.run / "private" / "probe.sock"
        self.hot = HotPages(
            self.visited,
            self.path,
            REGION,
            socket,
            lambda name: name in self.awake,
            lambda _: self.own_purges,
            lambda: self.now,
        )

    def put(self, key: str, value: msgspec.Struct) -> None:
        change = RecordChange(key, next(self.revisions), 1, msgspec.json.encode(value))
        self.store.apply([change], last=True)

    async def purge(self, what: PurgeRecord) -> None:
        key = purge_key(REGION, what)
        await self.edge.tell("purge", key.removeprefix(f"{REGION}.purge."), what)
        self.put(key, what)

    async def visit(self, **visits: int) -> None:
        """So many visits to each page, read from the ledger, which nginx writes at most a second late."""
        for path, count in visits.items():
            for _ in range(count):
                assert (await self.edge.get("hot.test", f"/{path}")).status_code == 200
        async with time_limit(BOUND):
            while self.counted < sum(visits.values()):
                await asyncio.sleep(POLL)
                self.ledger.read_new()
        self.counted = 0

    def count(self, environment: str, host: str, path: str) -> None:
        self.counted += 1
        self.visited.add(environment, host, path)

    async def refresh(self) -> int:
        return await self.hot.refresh_due()


@pytest.fixture(scope="module")
async def app(edge: EdgeHarness) -> Application:
    made = await edge.application("hot")

    async def respond(request: Request) -> Reply:
        return Reply(request.uri.encode(), headers=(("Cache-Tag", request.uri.strip("/")),))

    made.handler = respond
    await edge.tell("environment", "env_hot", HOT)
    await edge.tell("host", "hot.test", HostRecord("env_hot"))
    return made


@pytest.fixture
async def node(edge: EdgeHarness, app: Application, tmp_path: Path) -> Node:
    path = tmp_path / "records.sqlite"
    made = Node(edge, RecordStore(path), path)
    made.put(environment_key(REGION, "env_hot"), HOT)
    made.put(host_key(REGION, "hot.test"), HostRecord("env_hot"))
    await made.purge(PurgeRecord("env_hot"))
    return made


def fetched(app: Application, since: int) -> list[str]:
    return [request.uri for request in app.seen[since:]]


async def test_only_the_most_visited_pages_are_kept(node: Node, app: Application) -> None:
    await node.visit(often=5, seldom=1, sometimes=3)
    before = len(app.seen)
    assert await node.refresh() == 2
    assert fetched(app, before) == ["/often", "/sometimes"]
    # These were no visits.
    assert node.ledger.read_new() == {}


async def test_pages_are_fetched_again_after_the_interval_and_after_a_purge(
    node: Node, app: Application
) -> None:
    await node.visit(one=3, two=2)
    assert await node.refresh() == 2
    before = len(app.seen)
    assert await node.refresh() == 0
    await node.purge(PurgeRecord("env_hot", tag="two"))
    await node.refresh()
    assert fetched(app, before) == ["/two"]
    assert (await node.edge.get("hot.test", "/two")).headers["x-cache"] == "HIT"
    before = len(app.seen)
    await node.edge.admin.purge([NodePurge("env_hot", ("one",))])
    node.own_purges += 1
    await node.refresh()
    assert fetched(app, before) == ["/one"]
    node.now += INTERVAL
    before = len(app.seen)
    await node.refresh()
    assert fetched(app, before) == ["/one", "/two"]


async def test_a_sleeping_environment_is_not_asked(node: Node, app: Application) -> None:
    await node.visit(sleepy=2)
    node.awake.clear()
    before = len(app.seen)
    for _ in range(3):
        node.now += INTERVAL
        await node.purge(PurgeRecord("env_hot"))
        assert await node.refresh() == 0
    assert fetched(app, before) == []


async def test_without_the_setting_no_page_is_fetched(node: Node, app: Application) -> None:
    node.put(environment_key(REGION, "env_hot"), msgspec.structs.replace(HOT, hot_pages=0))
    await node.visit(cold=2)
    assert await node.refresh() == 0


def test_the_memory_for_visits_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stead.node.hot_pages.MAX_NEW", 10)
    visited = VisitedPages()
    for number in range(100):
        visited.add("env_hot", "hot.test", f"/{number}")
        visited.add("env_hot", "hot.test", "/0")
    visited.add("env_hot", "hot.test", "/with space\r\nX: y")
    taken = visited.take()
    assert len(taken) == 10
    assert max(taken.values()) == 101
