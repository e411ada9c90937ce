"""What it costs to choose among many certificates, against having one."""

import asyncio
import random
import socket
import ssl
from statistics import median

from bench.edges import NODE, Edges, edges
from bench.load import cpu_time
from bench.results import Result, spread
from bench.servers import Bench
from stead.dev.supervised_program import LOOPBACK
from stead.edge.certificate import self_signed
from stead.protocol.edge import Environment, Host

HOSTS = 500
ROUNDS = 9
HANDSHAKES = 300


async def handshake(_: Bench) -> Result:
    async with edges() as both:
        await _certificates(both)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        ours: list[float] = []
        theirs: list[float] = []
        for turn in range(ROUNDS + 1):
            order = [True, False] if turn % 2 else [False, True]
            for mine in order:
                spent = await asyncio.to_thread(_spent, both, context, mine)
                # The first round parses and warms.
                if turn:
                    (ours if mine else theirs).append(spent)
    ratios = [mine / its for mine, its in zip(ours, theirs, strict=True)]
    details = [
        f"ratio {spread(ratios)}",
        f"edge with {HOSTS} certificates: {median(ours):.0f} µs a handshake",
        f"bare nginx with one: {median(theirs):.0f} µs a handshake",
    ]
    return Result(median(ratios), 1.2, details)


async def _certificates(both: Edges) -> None:
    await both.tell("environment", "env_tls", Environment("site_tls", NODE, release="site"))
    for number in range(HOSTS):
        chain, key = self_signed(f"s{number}.test")
        await both.tell("host", f"s{number}.test", Host("env_tls"))
        await both.tell("certificate", f"s{number}.test", {"chain": chain.decode(), "key": key.decode()})


def _spent(both: Edges, context: ssl.SSLContext, mine: bool) -> float:
    pid = both.pid if mine else both.bare_pid
    port = both.secure if mine else both.bare_secure
    before = cpu_time(pid)
    for _ in range(HANDSHAKES):
        name = f"s{random.randrange(HOSTS)}.test" if mine else "s0.test"  # noqa: S311
        with (
            socket.create_connection((LOOPBACK, port)) as plain,
            context.wrap_socket(plain, server_hostname=name),
        ):
            pass
    return (cpu_time(pid) - before) / 1e3 / HANDSHAKES
