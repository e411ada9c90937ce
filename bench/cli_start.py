"""How long the program `stead` takes to start, compared with the smallest program that uses click."""

import asyncio
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.results import Result
from bench.servers import Bench

ROUNDS = 15
_BARE = """
import click

@click.group()
def main(): pass

@main.command()
def version(): click.echo("bare 1")

main()
"""


async def compare_starts(_: Bench) -> Result:
    """The version, which is shown before anything is imported."""
    return await asyncio.to_thread(_compare, ["--version"], 1.3)


async def compare_connections(_: Bench) -> Result:
    """A command that imports all that it needs, until it has tried to connect."""
    return await asyncio.to_thread(_compare, ["sites", "list", "--json"], 2.0)


def _compare(words: Sequence[str], goal: float) -> Result:
    with tempfile.TemporaryDirectory(prefix="stead-bench-") as scratch, socket.socket() as closed:
        bare = Path(scratch, "bare.py")
        bare.write_text(_BARE)
        # Bound, but not listening: connections are refused at once.
        closed.bind(("127.0.0.1", 0))
        address = "http://{}:{}".format(*closed.getsockname())
        programs: dict[str, Sequence[str]] = {
            "a bare click program": [str(bare), "version"],
            f"stead {' '.join(words)}": ["-m", "stead_cli", *words],
        }
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": scratch,
            "STEAD_BASE_URL": address,
            "STEAD_API_KEY": "x",
        }
        times: dict[str, list[float]] = {name: [] for name in programs}
        # The first run of each compiles, and is not counted.
        for round_ in range(ROUNDS + 1):
            for name, arguments in programs.items():
                seconds = _cpu_seconds([sys.executable, *arguments], variables)
                if round_:
                    times[name].append(seconds)
    bare_times, our_times = times.values()
    ratios = [ours / theirs for ours, theirs in zip(our_times, bare_times, strict=True)]
    return Result(
        median(ratios),
        goal,
        [f"{name}: {median(found) * 1e3:.0f} ms of a processor" for name, found in times.items()],
    )


def _cpu_seconds(command: list[str], variables: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=variables, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
