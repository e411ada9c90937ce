"""A version of a function that this node serves: its socket, its settings and its processes."""

import asyncio
import time
from pathlib import Path
from typing import Any

from stead.node.functions import places
from stead.node.functions.container import user_of
from stead.node.functions.processes import FunctionProcess
from stead.node.functions.spec import FunctionSpec
from stead.node.hosting.listening_socket import has_waiting, open_socket, refuse_waiting

WORKERS_PER_VERSION = 4
"""How many requests of a version are handled at the same time. More wait."""
BUSY_NANOSECONDS = 10_000_000
"""A version gets another process when all of its processes have been busy for this long and a request
waits."""


class FunctionRefused(Exception):
    """The version cannot be served; the message says why."""


class ServedVersion:
    """One version. `variables` contains its secrets, so it is kept in memory only."""

    def __init__(self, spec: FunctionSpec, variables: dict[str, str], slot: int, data: Path) -> None:
        self.spec, self.variables, self._data = spec, variables, data
        self.uid = user_of(slot)
        self.listening = open_socket(places.socket_of(data, spec.version))
        self.workers: dict[int, FunctionProcess] = {}
        self.starting = 0
        self.retry_at = 0.0
        self.last_used = time.monotonic()

    def settings(self) -> dict[str, Any]:
        return build_settings(self.spec, self.variables)

    def is_short_of_workers(self, now: int) -> bool:
        """Whether a request waits and no process will take it soon."""
        if self.starting or len(self.workers) >= WORKERS_PER_VERSION or not has_waiting(self.listening):
            return False
        return all(now - began > BUSY_NANOSECONDS for began in self._busy_since())

    def _busy_since(self) -> list[int]:
        """For an idle process, the current time: it has just been given a request, or will be."""
        now = time.monotonic_ns()
        activities = [worker.activity for worker in self.workers.values() if worker.activity]
        return [activity.read()[0] or now for activity in activities]

    @property
    def is_closed(self) -> bool:
        return self.listening.fileno() < 0

    def unwatch(self) -> None:
        if not self.is_closed:
            asyncio.get_running_loop().remove_reader(self.listening)

    def close(self) -> None:
        self.unwatch()
        refuse_waiting(self.listening)
        self.listening.close()
        places.socket_of(self._data, self.spec.version).unlink(missing_ok=True)


def build_settings(spec: FunctionSpec, variables: dict[str, str]) -> dict[str, Any]:
    """What a process of the version has to know."""
    return {
        "wall_ms": spec.wall_ms,
        "memory_mb": spec.memory_mb,
        "request_bytes": spec.request_bytes,
        "fresh": spec.fresh,
        "component": spec.is_component,
        "variables": variables,
        "bindings": [{"name": bound.name, "kind": bound.kind} for bound in spec.bindings],
    }
