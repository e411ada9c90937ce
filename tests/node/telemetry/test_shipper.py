"""No chunk keeps those after it from being delivered."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stead.control.engines.nats import Nats as ControlNats
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database
from stead.control.insights.receiver import ChunkReceiver
from stead.dev.engines.nats import Nats
from stead.node.drivers.driver import SiteSpan
from stead.node.nats_connection import NatsConnection
from stead.node.telemetry import spool as spool_module
from stead.node.telemetry.ledger_source import LedgerSource
from stead.node.telemetry.resource_samples import ResourceSource
from stead.node.telemetry.shipper import Shipper
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spans import SpanSource
from stead.node.telemetry.spool import NewRows, Spool
from stead.protocol.subjects import Program
from stead.protocol.telemetry import MAX_CHUNK_BYTES, Gap, encode, is_valid, read_report
from stead.shared.clock import wall_clock
from tests.node.harness import NodeHarness
from tests.node.telemetry.chunk_files import read_rows

FAR = 10_000_003_599.5
"""After the last moment that a report can contain."""


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "telemetry")


def save(spool: Spool, *moments: float) -> None:
    rows = NewRows("spans")
    for moment in moments:
        rows.add("env_1", moment, f"{moment:014.3f}\tx\n".encode())
    spool.save({}, rows, time.time())


@asynccontextmanager
async def shipping(here: NodeHarness, spool: Spool) -> AsyncIterator[Shipper]:
    """A node and a control plane that wants no chunks, so it needs neither a database nor an object store."""
    login = here.stack[Nats].login(Program.WORKER)
    nats = ControlNats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    database = Database("postgresql://nobody@127.0.0.1:1/none", clock=wall_clock, size=1)
    objects = ObjectStore("http://127.0.0.1:1", "none", "none", "none")
    connection = NatsConnection(here.as_settings())
    sources = (LedgerSource(here.data / "ledger.json", spool), LogSource(list, spool))
    more = (ResourceSource(list, spool), SpanSource(list, spool))
    nats.start()
    try:
        await nats.ready()
        await ChunkReceiver(nats, database, objects, wanted=False).start()
        async with connection.keep_open():
            await connection.client()
            yield Shipper(here.node.id, connection, spool, *sources, *more, every=1.0)
    finally:
        await nats.stop()


async def test_a_chunk_that_can_never_be_accepted_becomes_a_gap_and_others_are_delivered(
    here: NodeHarness, spool: Spool
) -> None:
    now = time.time()
    save(spool, FAR, now)
    save(spool, now)
    save(spool, now)
    lost = spool.next_chunk()
    assert lost is not None
    assert not lost.is_deliverable
    async with shipping(here, spool) as shipper:
        assert await shipper.deliver_next()
        assert not lost.path.exists()
        [(_, gap)] = spool.list_gaps(10)
        assert (gap.stream, gap.first, gap.rows) == ("spans", now, 2)
        without_file = spool.next_chunk()
        assert without_file is not None
        without_file.path.unlink()
        assert await shipper.deliver_next()
        assert await shipper.deliver_next()
        assert spool.next_chunk() is None
        assert spool.list_gaps(10) == [], "they were reported"


async def test_a_report_that_the_control_plane_cannot_read_is_refused_and_the_node_goes_on(
    here: NodeHarness, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a node that knows other limits."""
    monkeypatch.setattr(spool_module, "is_valid", lambda _: True)
    save(spool, FAR)
    save(spool, time.time())
    async with shipping(here, spool) as shipper:
        assert await shipper.deliver_next()
        assert [gap.rows for _, gap in spool.list_gaps(10)] == [1]
        assert await shipper.deliver_next()
        assert spool.next_chunk() is None


def test_rows_are_split_into_chunks_that_can_be_accepted(spool: Spool) -> None:
    now, many, large = time.time(), NewRows("logs"), NewRows("logs")
    for number in range(120_001):
        many.add(f"env_{number % 3}", now + number / 1000, b"a\n")
    for number in range(1_000):
        noise = os.urandom(20_000).replace(b"\n", b"x").replace(b"\t", b"x")
        large.add(f"env_{number % 3}", now, noise + b"\n")
    spool.save({}, many, now + 200, large)
    counts, untils, last = list[int](), list[float](), 0.0
    while (pending := spool.next_chunk()) is not None:
        assert is_valid(pending.chunk)
        assert pending.chunk.size <= MAX_CHUNK_BYTES
        assert pending.path.stat().st_size == pending.chunk.size
        if len(counts) < 3:
            assert len(read_rows(pending)) == pending.chunk.rows
            last = max(last, pending.chunk.last)
        counts.append(pending.chunk.rows)
        untils.append(pending.chunk.until)
        spool.remove(pending)
    assert sum(counts) == 121_001
    assert last == many.last
    assert len(counts) == 3 + 4
    # Only the last chunk of each makes everything up to then complete.
    assert [until == now + 200 for until in untils] == [False, False, True, False, False, False, True]


def test_a_gap_can_always_be_reported(spool: Spool) -> None:
    spool.add_gap(Gap("spans", -5.0, FAR, 10**15))
    [(_, gap)] = spool.list_gaps(1)
    report = {"node": "node-1", "id": "q", "until": 0.0, "gaps": [gap]}
    assert read_report(encode(report)).gaps == (gap,)


def test_spans_of_times_that_cannot_be_true_are_left_out(spool: Spool) -> None:
    now = time.time()
    times = (FAR, 9_999_999_999.0, now + 3_600, now, now - 9 * 86_400, 1e9)
    spans = [SiteSpan("env_1", "t", "s", "", "php", f"at {at}", at, 1, False) for at in times]
    SpanSource(lambda: spans, spool).read_new()
    chunk = spool.next_chunk()
    assert chunk is not None
    assert [row[6] for row in read_rows(chunk)] == [f"at {now}"]
