"""Which processes of functions run at the same time: a node has a limited number of them, and a site its
share. When all of them run, the tenants of the node have equal shares."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

LEAST_BUSY_SECONDS = 1.0
"""How long a request is handled before its process may have to make room."""
PLACES_LEFT = 1
"""What tenants with more than their share leave to others."""


class RunningWorker(Struct, frozen=True):
    number: int
    """0 if it is starting."""
    tenant: str
    site: str
    memory_mb: int
    """What it may use."""
    last_used: float
    is_idle: bool
    busy_seconds: float = 0.0
    """How long it has handled its request."""


@dataclass(frozen=True)
class Capacity:
    of_node: int
    of_site: int
    site_memory_mb: int

    def decide(
        self, tenant: str, site: str, memory_mb: int, running: Sequence[RunningWorker]
    ) -> tuple[bool, list[int]]:
        """Whether a site may start another process, and which ones must end for it. The first process of a
        site may always have the memory that it needs."""
        own = [each for each in running if each.site == site]
        ended: list[RunningWorker] = []
        idle = sorted((each for each in own if each.is_idle), key=lambda each: each.last_used)
        while own and (
            len(own) >= self.of_site or sum(each.memory_mb for each in own) + memory_mb > self.site_memory_mb
        ):
            if not idle:
                return False, []
            ended.append(idle.pop(0))
            own.remove(ended[-1])
        left = [each for each in running if each not in ended]
        shares = self._share(tenant, left)
        # One that starts slowly cannot be ended for another tenant, which finds this place instead.
        if len(left) >= self.of_node - (PLACES_LEFT if shares.has_more(tenant) else 0):
            if (victim := shares.choose_victim(tenant, left)) is None:
                return False, []
            ended.append(victim)
        return True, [each.number for each in ended]

    def _share(self, tenant: str, running: Sequence[RunningWorker]) -> "_Shares":
        counts = Counter([tenant, *(each.tenant for each in running)])
        return _Shares(counts, fair=self.of_node / len(counts))


@dataclass(frozen=True)
class _Shares:
    """How many processes each tenant has, with the one that is wanted."""

    counts: Mapping[str, int]
    fair: float

    def has_more(self, tenant: str) -> bool:
        return self.counts[tenant] > self.fair

    def choose_victim(self, tenant: str, running: Sequence[RunningWorker]) -> RunningWorker | None:
        """The process that has been idle for longest, first of tenants with more than their share. A tenant
        that would have more than its share gets no process of those that have not. One that has less gets
        also a busy one of the tenant that has most."""
        wants_more = self.has_more(tenant)
        idle = [each for each in running if each.is_idle and (not wants_more or self.has_more(each.tenant))]
        if idle:
            return min(idle, key=lambda each: (not self.has_more(each.tenant), each.last_used))
        if wants_more:
            return None
        largest = max(self.counts, key=lambda each: self.counts[each])
        busy = [
            each for each in running if each.tenant == largest and each.busy_seconds >= LEAST_BUSY_SECONDS
        ]
        return max(busy, key=lambda each: each.busy_seconds, default=None)
