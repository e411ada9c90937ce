"""The CPU cost of a TLS handshake with many certificates, compared with one."""

import asyncio
import random
import socket
import ssl
from statistics import median

from bench.edge_pair import NODE, EdgePair, run_edge_pair
from bench.load import cpu_time
from bench.results import Result, spread
from bench.servers import Bench
from stead.dev.supervised_program import LOOPBACK
from stead.edge.certificate import make_self_signed
from stead.protocol.edge_records import EnvironmentRecord, HostRecord

HOSTS = 500
ROUNDS = 9
HANDSHAKES = 300


async def compare_handshakes(_: Bench) -> Result:
    async with run_edge_pair() as pair:
        await _load_certificates(pair)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        edge_costs: list[float] = []
        bare_costs: list[float] = []
        for turn in range(ROUNDS + 1):
            order = [True, False] if turn % 2 else [False, True]
            for with_edge in order:
                cost = await asyncio.to_thread(_measure, pair, context, with_edge)
                # The first round is not counted: certificates are parsed and caches are filled.
                if turn:
                    (edge_costs if with_edge else bare_costs).append(cost)
    ratios = [edge / bare for edge, bare in zip(edge_costs, bare_costs, strict=True)]
    details = [
        f"ratio {spread(ratios)}",
        f"edge with {HOSTS} certificates: {median(edge_costs):.0f} µs a handshake",
        f"bare nginx with one: {median(bare_costs):.0f} µs a handshake",
    ]
    return Result(median(ratios), 1.2, details)


async def _load_certificates(pair: EdgePair) -> None:
    await pair.apply_record("environment", "env_tls", EnvironmentRecord("site_tls", NODE, release="site"))
    for number in range(HOSTS):
        chain, key = make_self_signed(f"s{number}.test")
        await pair.apply_record("host", f"s{number}.test", HostRecord("env_tls"))
        await pair.apply_record(
            "certificate", f"s{number}.test", {"chain": chain.decode(), "key": key.decode()}
        )


def _measure(pair: EdgePair, context: ssl.SSLContext, with_edge: bool) -> float:
    pid = pair.pid if with_edge else pair.bare_pid
    port = pair.secure if with_edge else pair.bare_secure
    before = cpu_time(pid)
    for _ in range(HANDSHAKES):
        name = f"s{random.randrange(HOSTS)}.test" if with_edge else "s0.test"  # noqa: S311
        with (
            socket.create_connection((LOOPBACK, port)) as plain,
            context.wrap_socket(plain, server_hostname=name),
        ):
            pass
    return (cpu_time(pid) - before) / 1e3 / HANDSHAKES
