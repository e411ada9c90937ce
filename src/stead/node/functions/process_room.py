"""Room for the processes of functions: on a full node, one of them ends for another."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from stead.node.functions.capacity import Capacity, RunningWorker
from stead.node.functions.processes import FunctionProcess
from stead.node.functions.served_version import FunctionRefused, ServedVersion
from stead.node.functions.spec import FunctionSpec

WORKERS_PER_SITE = 32
"""How many processes the functions of a site have together."""
SITE_MEMORY_MB = 2048
"""How much memory the processes of a site may use together, if all use what they may."""
WAIT_SECONDS = 30.0
"""How long a version waits for room before its requests are refused."""
CHECK_SECONDS = 0.05
LOOKS_PER_CHECK = 4
"""How often the versions of a tenant that wait look for room in this time, all together. One program looks at
the processes of all tenants."""


class ProcessRoom:
    """Decides when a version may start another process, and which process ends for it."""

    def __init__(
        self,
        most_workers: int,
        site_memory_mb: int,
        stop_worker: Callable[[ServedVersion, FunctionProcess], None],
    ) -> None:
        self._capacity = Capacity(most_workers, min(WORKERS_PER_SITE, most_workers), site_memory_mb)
        self._stop_worker = stop_worker
        self.running: set[ServedVersion] = set()
        """Versions with processes, also those that `serve` has replaced."""
        self.starting: list[ServedVersion] = []
        """Versions of which a process is starting, which may take long."""
        self._waiting: Counter[str] = Counter()
        """How many versions of each tenant wait for room."""

    async def wait_for_room(self, served: ServedVersion) -> None:
        """Raises FunctionRefused. Processes of other sites are not waited for: a site has its share."""
        until, tenant = time.monotonic() + WAIT_SECONDS, served.spec.tenant_or_site
        self._waiting[tenant] += 1
        try:
            while not self.make_room(served):
                if time.monotonic() > until or served.is_closed:
                    raise FunctionRefused("the functions of the site, or of the node, use all processes")
                await asyncio.sleep(CHECK_SECONDS * max(1.0, self._waiting[tenant] / LOOKS_PER_CHECK))
        finally:
            self._waiting[tenant] -= 1
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    def try_make_room(self, served: ServedVersion, refused: dict[str, int]) -> bool:
        """`refused` says how much memory was too much for a site a moment ago, so that it is asked once for
        all its versions."""
        spec = served.spec
        if spec.site in refused and spec.memory_mb >= refused[spec.site]:
            return False
        if self.make_room(served):
            return True
        refused[spec.site] = spec.memory_mb
        return False

    def make_room(self, wanted: ServedVersion) -> bool:
        """Whether another process of the version may be started. If there are too many, one is ended for
        it."""
        workers = {
            worker.number: (served, worker)
            for served in self.running
            for worker in served.workers.values()
            if not worker.is_killed
        }
        running = [
            _describe(served.spec, number, served.last_used, worker)
            for number, (served, worker) in workers.items()
        ]
        running += [_describe(each.spec) for each in self.starting]
        spec = wanted.spec
        may_start, ended = self._capacity.decide(spec.tenant_or_site, spec.site, spec.memory_mb, running)
        for served, worker in (workers[number] for number in ended):
            self._stop_worker(served, worker)
        return may_start


def _describe(
    spec: FunctionSpec, number: int = 0, last_used: float = 0.0, worker: FunctionProcess | None = None
) -> RunningWorker:
    """Without a process, one that is starting."""
    busy = worker.busy_seconds if worker else 0.0
    is_idle = worker is not None and not busy
    return RunningWorker(number, spec.tenant_or_site, spec.site, spec.memory_mb, last_used, is_idle, busy)
