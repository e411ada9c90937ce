"""An edge with a million hosts: the time to load them, their memory, and the CPU time of a request."""

import time
from collections.abc import Iterator
from statistics import median

import msgspec

from bench.edge_pair import HOST, NODE, EdgePair, run_edge_pair
from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import Result, spread
from bench.servers import Bench
from stead.protocol.edge_records import EnvironmentRecord, HostRecord, RecordLine

HOSTS = 1_000_000
LINES = 1_000
VISITED = 10_000
_SCRIPT = f"""
local n = 0
request = function()
  n = (n + 7919) % {VISITED}
  wrk.headers["Host"] = "www.customer-" .. n * {HOSTS // VISITED} .. ".example"
  return wrk.format("GET", "/")
end
"""


async def serve_million_hosts(_: Bench) -> Result:
    memory = {"STEAD_EDGE_MEMORY_RECORDS": "1400"}
    async with run_edge_pair(**memory) as pair:
        empty = (await pair.admin.state()).free["records"]
        started = time.monotonic()
        batch: list[RecordLine] = []
        for line in _lines(pair):
            batch.append(line)
            if len(batch) == LINES:
                await pair.admin.apply(batch)
                batch.clear()
        took = time.monotonic() - started
        state = await pair.admin.state()
        script = pair.home / "hosts.lua"
        script.write_text(_SCRIPT)
        measured = Subject("edge with a million hosts", f"{pair.url}/", pair.pid, script=script)
        base = Subject("bare nginx", f"{pair.bare_url}/", pair.bare_pid)
        single = Subject("edge, one host of them", f"{pair.url}/", pair.pid, host=HOST)
        await measure_pairs(measured, base, rounds=9)
        again = Subject("bare nginx", f"{pair.bare_url}/", pair.bare_pid)
        await measure_pairs(single, again, rounds=5)
    ratios = cpu_ratios(measured, base)
    details = [
        f"static CPU ratio over {VISITED} of them: {spread(ratios)}",
        f"static CPU ratio of one host: {spread(cpu_ratios(single, again))}",
        f"{state.hosts} hosts with an environment each: {(empty - state.free['records']) / 2**20:.0f} MB",
        f"loaded in {took:.0f} s, {2 * HOSTS / took:.0f} lines/s",
        measured.summary(),
        base.summary(),
    ]
    return Result(median(ratios), 1.6, details)


def _lines(pair: EdgePair) -> Iterator[RecordLine]:
    for number in range(HOSTS):
        environment = f"env_{number:026d}"
        record = EnvironmentRecord(
            f"site_{number:026d}", NODE, release="site", waf="detection", login_lockout=True, cache_ttl=600
        )
        yield pair.line("environment", environment, msgspec.to_builtins(record))
        yield pair.line("host", f"www.customer-{number}.example", HostRecord(environment))
