"""Load from `wrk`, and what it cost the server: CPU time of its processes as the scheduler counted it.

Two subjects are measured in pairs, one right after the other, in alternating order: whatever else the machine
does meanwhile touches both, and the median of the rounds' ratios drops the rounds where it did not.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
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
    """One run of the load; times in microseconds."""

    requests: int
    seconds: float
    cpu: float
    p50: float
    p99: float


@dataclass(slots=True)
class Subject:
    """One address of one server under load."""

    name: str
    url: str
    pid: int
    bearer: str | None = None
    samples: list[Sample] = field(default_factory=list)

    def summary(self) -> str:
        cpu = [each.cpu for each in self.samples]
        return (
            f"{self.name}: CPU {median(cpu):.0f} µs a request ({min(cpu):.0f} to {max(cpu):.0f}),"
            f" {median(each.requests / each.seconds for each in self.samples):.0f} requests/s,"
            f" p50 {median(each.p50 for each in self.samples):.0f} µs,"
            f" p99 {median(each.p99 for each in self.samples):.0f} µs"
        )


async def paired(
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
    return [mine.cpu / its.cpu for mine, its in zip(measured.samples, base.samples, strict=True)]


def latency_ratios(measured: Subject, base: Subject) -> list[float]:
    return [mine.p50 / its.p50 for mine, its in zip(measured.samples, base.samples, strict=True)]


def server_core() -> list[str]:
    """The command prefix that keeps a server on one core, so that the load does not share it."""
    cores = sorted(os.sched_getaffinity(0))
    return [_tool("taskset"), "-c", str(cores[0])] if len(cores) > 1 else []


async def _run(subject: Subject, *, seconds: int, connections: int) -> Sample:
    cores = sorted(os.sched_getaffinity(0))[1:]
    pin = [_tool("taskset"), "-c", ",".join(map(str, cores))] if cores else []
    header = ["-H", f"Authorization: Bearer {subject.bearer}"] if subject.bearer else []
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *header, subject.url]
    before = cpu_time(subject.pid)
    process = await asyncio.create_subprocess_exec(
        *pin, _tool("wrk"), *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said = (await process.communicate())[0].decode()
    spent = cpu_time(subject.pid) - before
    found = _REQUESTS.search(said)
    if process.returncode != 0 or found is None or "Non-2xx" in said or "Socket errors" in said:
        raise CouldNotRun(f"{subject.name} failed under load:\n{said}")
    latency = {percent: float(figure) * _UNIT[unit] for percent, figure, unit in _LATENCY.findall(said)}
    requests = int(found[1])
    return Sample(requests, seconds, spent / 1e3 / requests, latency["50"], latency["99"])


def cpu_time(pid: int) -> int:
    """Nanoseconds that a process, its threads and its descendants have run for."""
    root = psutil.Process(pid)
    total = 0
    for process in (root, *root.children(recursive=True)):
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
    return total


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise CouldNotRun(f"{name} is not installed; install it with: apt-get install wrk util-linux")
    return found
