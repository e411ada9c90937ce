"""Measures how much of the machine the containers of sites use, and makes chunks of it."""

import time
from collections.abc import Callable, Sequence

from stead.node.containers import cgroups
from stead.node.drivers.driver import SiteContainer
from stead.node.telemetry.spool import NewRows, Spool
from stead.protocol.telemetry import TIME_DIGITS

SAMPLE_SECONDS = 30.0


class ResourceSource:
    """Its methods block."""

    def __init__(self, list_containers: Callable[[], Sequence[SiteContainer]], spool: Spool) -> None:
        self._list_containers, self._spool = list_containers, spool
        self._before: dict[str, tuple[float, int]] = {}
        """When each group was measured, and how much time of processors it had used."""
        self._sampled_at = -SAMPLE_SECONDS

    def sample_if_due(self) -> None:
        if time.monotonic() - self._sampled_at >= SAMPLE_SECONDS and not self._spool.is_full:
            self._sampled_at = time.monotonic()
            self.sample()

    def sample(self) -> None:
        now, rows = time.time(), NewRows("resources")
        measured: dict[str, tuple[float, int]] = {}
        for container in self._list_containers():
            usage = cgroups.usage(container.cgroup)
            if usage is None:
                continue
            measured[container.cgroup] = now, usage.cpu_ms
            since, cpu_before = self._before.get(container.cgroup, (now, usage.cpu_ms))
            # A container that was started again begins at 0.
            used = usage.cpu_ms - cpu_before if usage.cpu_ms >= cpu_before else usage.cpu_ms
            elapsed = max(round((now - since) * 1000), 0)
            row = (
                f"{now:0{TIME_DIGITS}.3f}\t{container.name}\t{used}\t{elapsed}\t{usage.memory_bytes}"
                f"\t{usage.memory_limit}\n"
            )
            rows.add(container.environment, now, row.encode())
        self._before = measured
        if rows.count:
            self._spool.save({}, rows, now)
