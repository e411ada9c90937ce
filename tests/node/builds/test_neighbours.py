"""A site on the same machine is served while a hostile build runs."""

import asyncio
import http.client
import statistics
import time

from stead.node.builds.limits import BuildLimits
from tests.edge.edge_harness import EdgeHarness
from tests.edge.edge_harness import start_edge as running_edge
from tests.node.builds.build_harness import BuildHarness, CapturedOutput
from tests.node.builds.projects import package
from tests.percentiles import p99

HOST = "neighbour.example.com"
SAMPLES = 1500
GENEROUS = 60.0
"""Generous, because of other load on the machine; without isolation the site would be thousands of times
slower."""

HOSTILE = """
burn() { while :; do :; done; }
for i in 1 2 3 4 5 6 7 8; do burn & done
(while :; do dd if=/dev/zero of=big bs=1M count=150 conv=fsync; done) > /dev/null 2>&1 &
node -e "for (;;) { const all = []; for (let i = 0; i < 20; i++) all.push(Buffer.alloc(16 << 20, 1)); }" &
while :; do (true | true | true) > /dev/null 2>&1; done &
echo under way
wait
"""


def asked(edge: EdgeHarness, count: int) -> list[float]:
    """The seconds of each response, one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", edge.port, timeout=30)
    took = []
    for _ in range(count):
        began = time.perf_counter()
        connection.request("GET", "/", headers={"Host": HOST})
        answer = connection.getresponse()
        body = answer.read()
        took.append(time.perf_counter() - began)
        assert (answer.status, body) == (200, b"still here")
        time.sleep(0.002)
    connection.close()
    return took


async def test_a_site_on_the_same_node_is_served_during_a_hostile_build(bench: BuildHarness) -> None:
    files = {"package.json": package(build="sh build.sh"), "build.sh": HOSTILE}
    async with running_edge() as edge:
        await edge.site(HOST, "env_neighbour", {"index.html": "still here"})
        await asyncio.to_thread(asked, edge, 100)
        alone = await asyncio.to_thread(asked, edge, SAMPLES)
        said = CapturedOutput()
        builder = bench.builder(build_pids=256, build_cpu_shares=BuildLimits().cpu_shares)
        build = asyncio.create_task(bench.build(bench.wanted(bench.upload(files)), said, builder))
        await said.until("under way")
        beside = await asyncio.to_thread(asked, edge, SAMPLES)
        assert not build.done()
        build.cancel()
        await asyncio.wait({build})
        bench.assert_nothing_is_left()
    ratio = p99(beside) / p99(alone)
    print(  # noqa: T201
        f"\np99 of a neighbour: {p99(alone) * 1e3:.2f} ms alone,"
        f" {p99(beside) * 1e3:.2f} ms beside a hostile build, ratio {ratio:.1f};"
        f" median {statistics.median(alone) * 1e3:.2f} and {statistics.median(beside) * 1e3:.2f} ms"
    )
    assert ratio < GENEROUS
