"""A million hosts in one edge: how long it takes to tell them, what they weigh, what a visit costs then."""

import time
from collections.abc import Iterator
from statistics import median

import msgspec

from bench.edges import HOST, NODE, Edges, edges
from bench.load import Subject, cpu_ratios, paired
from bench.results import Result, spread
from bench.servers import Bench
from stead.protocol.edge import Environment, Host, Line

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


async def million(_: Bench) -> Result:
    memory = {"STEAD_EDGE_MEMORY_RECORDS": "1400"}
    async with edges(**memory) as both:
        empty = (await both.admin.state()).free["records"]
        began = time.monotonic()
        batch: list[Line] = []
        for line in _lines(both):
            batch.append(line)
            if len(batch) == LINES:
                await both.admin.apply(batch)
                batch.clear()
        took = time.monotonic() - began
        state = await both.admin.state()
        script = both.home / "hosts.lua"
        script.write_text(_SCRIPT)
        measured = Subject("edge with a million hosts", f"{both.url}/", both.pid, script=script)
        base = Subject("bare nginx", f"{both.bare_url}/", both.bare_pid)
        single = Subject("edge, one host of them", f"{both.url}/", both.pid, host=HOST)
        await paired(measured, base, rounds=9)
        again = Subject("bare nginx", f"{both.bare_url}/", both.bare_pid)
        await paired(single, again, rounds=5)
    ratios = cpu_ratios(measured, base)
    details = [
        f"static CPU ratio over {VISITED} of them: {spread(ratios)}",
        f"static CPU ratio of one host: {spread(cpu_ratios(single, again))}",
        f"{state.hosts} hosts with an environment each: {(empty - state.free['records']) / 2**20:.0f} MB",
        f"told in {took:.0f} s, {2 * HOSTS / took:.0f} lines/s",
        measured.summary(),
        base.summary(),
    ]
    return Result(median(ratios), 1.6, details)


def _lines(both: Edges) -> Iterator[Line]:
    for number in range(HOSTS):
        environment = f"env_{number:026d}"
        record = Environment(
            f"site_{number:026d}", NODE, release="site", waf="detection", login_lockout=True, cache_ttl=600
        )
        yield both.line("environment", environment, msgspec.to_builtins(record))
        yield both.line("host", f"www.customer-{number}.example", Host(environment))
