"""Handshakes at an edge whose node has more certificates than fit in nginx's memory: the time of one that
must be looked up, compared with one that is in memory. Also the time until a new nginx knows all of them."""

import asyncio
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from bench.edge_pair import NODE, EdgePair, run_edge_pair
from bench.results import Result
from bench.servers import Bench
from stead.dev.supervised_program import LOOPBACK
from stead.edge.certificate import make_self_signed
from stead.node.feed.nginx_updater import NginxUpdater
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_server import RecordServer
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.protocol import edge_records
from stead.protocol.edge_records import CertificateRecord, EnvironmentRecord, HostRecord
from stead.shared.edge_keys import seal

COUNTS = (10_000, 100_000, 1_000_000)
HANDSHAKES = 500
BATCH = 10_000
REGION, KEY = "here", bytes(32)


async def look_up_certificates(_: Bench, counts: tuple[int, ...] = COUNTS) -> Result:
    ratios, details = [], []
    for count in counts:
        # A look-up must be necessary at every count, so the memory is smaller than 10,000 certificates.
        memory = {"STEAD_EDGE_MEMORY_CERTIFICATES": "8", "STEAD_EDGE_MEMORY_RECORDS": "1400"}
        async with run_edge_pair(**memory) as pair:
            ratio, lines = await _measure(pair, count)
        ratios.append(ratio)
        details += lines
    return Result(ratios[-1], 2.0, details)


async def _measure(pair: EdgePair, count: int) -> tuple[float, list[str]]:
    store, decoder = RecordStore(pair.home / "edge.sqlite"), RecordDecoder([KEY])
    try:
        _fill(store, count)
        async with RecordServer(store, decoder, REGION).listen(pair.home / "run" / "store.sock"):
            done = asyncio.Event()
            updater = NginxUpdater(store, pair.admin, decoder, lambda *_: done.set())
            began = time.monotonic()
            task = asyncio.create_task(updater.run())
            await done.wait()
            loaded = time.monotonic() - began
            task.cancel()
            cold, warm = await asyncio.to_thread(_handshakes, pair, count)
    finally:
        store.close()
    resident = sum(_resident(pid) for pid in _processes(pair.pid))
    ratio = median(cold) / median(warm)
    return ratio, [
        f"{count} certificates: looked up {_percentiles(cold)}, in memory {_percentiles(warm)},"
        f" ratio of the medians {ratio:.2f}",
        f"{count} certificates: a new nginx has their hosts and revisions after {loaded:.1f} s;"
        f" {resident / 2**20:.0f} MB resident in all its processes",
    ]


def _fill(store: RecordStore, count: int) -> None:
    chain, key = (text.decode() for text in make_self_signed("many.example"))
    store.begin_history("bench")
    environment = EnvironmentRecord("site_1", NODE, release="site")
    first = RecordChange(
        edge_records.environment_key(REGION, "env_1"), 1, 1, edge_records.encode(environment)
    )
    batch = [first]
    for change in _changes(count, chain, key):
        batch.append(change)
        if len(batch) >= BATCH:
            store.apply(batch, last=False)
            batch = []
    store.apply(batch, last=True)


def _changes(count: int, chain: str, key: str) -> Iterator[RecordChange]:
    host = edge_records.encode(HostRecord("env_1", https=True))
    for number in range(count):
        name = f"c{number}.example"
        record = edge_records.encode(CertificateRecord(chain, seal(KEY, name, key)))
        yield RecordChange(edge_records.host_key(REGION, name), 2 * number + 2, 1, host)
        yield RecordChange(edge_records.certificate_key(REGION, name), 2 * number + 3, 1, record)


def _handshakes(pair: EdgePair, count: int) -> tuple[list[float], list[float]]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    cold, warm = [], []
    step = count // (HANDSHAKES + 1)
    for number in range(HANDSHAKES):
        # From the end: the first ones are in memory already.
        name = f"c{count - 1 - number * step}.example"
        cold.append(_handshake(pair, context, name))
        warm.append(_handshake(pair, context, name))
    return cold, warm


def _handshake(pair: EdgePair, context: ssl.SSLContext, name: str) -> float:
    began = time.perf_counter()
    with (
        socket.create_connection((LOOPBACK, pair.secure)) as plain,
        context.wrap_socket(plain, server_hostname=name),
    ):
        return time.perf_counter() - began


def _percentiles(seconds: list[float]) -> str:
    return f"p50 {median(seconds) * 1e3:.2f} ms, p99 {quantiles(seconds, n=100)[98] * 1e3:.2f} ms"


def _processes(master: int) -> list[int]:
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    return [master, *map(int, children)]


def _resident(pid: int) -> int:
    """Its share of the memory that it has in use; shared memory is divided among those who use it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
