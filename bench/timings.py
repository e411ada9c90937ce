"""The time and the processor time of work that is done in turns with something it is compared with."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.results import spread


def processor_time() -> float:
    """The CPU time of this process and of the children it has waited for."""
    return sum(
        use.ru_utime + use.ru_stime
        for use in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


class Timings:
    """`used` returns the processor time that counts."""

    def __init__(self, used: Callable[[], float] = processor_time) -> None:
        self._used = used
        self.wall: list[float] = []
        self.cpu: list[float] = []

    @contextmanager
    def measure(self) -> Iterator[None]:
        began, used = time.perf_counter(), self._used()
        yield
        self.wall.append(time.perf_counter() - began)
        self.cpu.append(self._used() - used)

    def drop_first(self) -> None:
        """The first one has to read files from the disk."""
        del self.wall[0], self.cpu[0]

    def __str__(self) -> str:
        return f"{median(self.wall):.2f} s, of a processor {median(self.cpu):.2f} s"


def compare(ours: Timings, bare: Timings) -> tuple[float, list[str]]:
    """The median of the ratios of time, and how the ratios are spread."""
    wall = [one / other for one, other in zip(ours.wall, bare.wall, strict=True)]
    cpu = [one / other for one, other in zip(ours.cpu, bare.cpu, strict=True)]
    return median(wall), [f"ratio {spread(wall)}", f"ratio of processor time {spread(cpu)}"]
