"""Generates load with `wrk`, and measures the CPU time of the server as counted by the scheduler.

Two subjects are measured in pairs, one right after the other, in alternating order. Other work of the machine
affects both, and the median of the ratios excludes the rounds in which it affected only one.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from bench.results import CouldNotRun

ROUNDS = 15
SECONDS = 1
CONNECTIONS = 16
_UNIT = {"us": 1.0, "ms": 1e3, "s": 1e6}
_REQUESTS = re.compile(r"(\d+) requests in")
_LATENCY = re.compile(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of the load. Times are in microseconds."""

    requests: int
    seconds: float
    cpu: float
    p50: float
    p99: float


@dataclass(slots=True)
class Subject:
    """One URL of one server under load."""

    name: str
    url: str
    pid: int
    bearer: str | None = None
    host: str | None = None
    script: Path | None = None
    """A `wrk` script, if more than one URL is requested."""
    more: Callable[[], int] = lambda: 0
    """Reads the CPU time of what works for the server, in nanoseconds."""
    samples: list[Sample] = field(default_factory=list)

    def summary(self) -> str:
        cpu = [each.cpu for each in self.samples]
        return (
            f"{self.name}: CPU {median(cpu):.0f} µs a request ({min(cpu):.0f} to {max(cpu):.0f}),"
            f" {median(each.requests / each.seconds for each in self.samples):.0f} requests/s,"
            f" p50 {median(each.p50 for each in self.samples):.0f} µs,"
            f" p99 {median(each.p99 for each in self.samples):.0f} µs"
        )


async def measure_pairs(
    measured: Subject,
    base: Subject,
    *,
    rounds: int = ROUNDS,
    seconds: int = SECONDS,
    connections: int = CONNECTIONS,
) -> None:
    for subject in (measured, base):
        await _run(subject, seconds=1, connections=connections)
    for turn in range(rounds):
        order: Sequence[Subject] = (measured, base) if turn % 2 == 0 else (base, measured)
        for subject in order:
            subject.samples.append(await _run(subject, seconds=seconds, connections=connections))


def cpu_ratios(measured: Subject, base: Subject) -> list[float]:
    return [one.cpu / other.cpu for one, other in zip(measured.samples, base.samples, strict=True)]


def latency_ratios(measured: Subject, base: Subject) -> list[float]:
    return [one.p50 / other.p50 for one, other in zip(measured.samples, base.samples, strict=True)]


def server_core() -> list[str]:
    """The command prefix that binds a server to one core, which the load does not use."""
    cores = sorted(os.sched_getaffinity(0))
    return [_find_tool("taskset"), "-c", str(cores[0])] if len(cores) > 1 else []


async def _run(subject: Subject, *, seconds: int, connections: int) -> Sample:
    cores = sorted(os.sched_getaffinity(0))[1:]
    pin = [_find_tool("taskset"), "-c", ",".join(map(str, cores))] if cores else []
    header = ["-H", f"Authorization: Bearer {subject.bearer}"] if subject.bearer else []
    if subject.host:
        header += ["-H", f"Host: {subject.host}"]
    if subject.script:
        header += ["-s", str(subject.script)]
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *header, subject.url]
    before = cpu_time(subject.pid) + subject.more()
    process = await asyncio.create_subprocess_exec(
        *pin, _find_tool("wrk"), *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output = (await process.communicate())[0].decode()
    spent = cpu_time(subject.pid) + subject.more() - before
    found = _REQUESTS.search(output)
    if process.returncode != 0 or found is None or "Non-2xx" in output or "Socket errors" in output:
        raise CouldNotRun(f"{subject.name} failed under load:\n{output}")
    latency = {percent: float(figure) * _UNIT[unit] for percent, figure, unit in _LATENCY.findall(output)}
    requests = int(found[1])
    return Sample(requests, seconds, spent / 1e3 / requests, latency["50"], latency["99"])


def cpu_time(pid: int) -> int:
    """The CPU time of a process, its threads and its descendants, in nanoseconds."""
    root = psutil.Process(pid)
    total = 0
    for process in (root, *root.children(recursive=True)):
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
    return total


def _find_tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise CouldNotRun(f"{name} is not installed; install it with: apt-get install wrk util-linux")
    return found
