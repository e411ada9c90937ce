"""Which processes of functions run at the same time: a node has a limited number of them, and a site its
share."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunningWorker:
    number: int
    site: str
    memory_mb: int
    """What it may use."""
    last_used: float
    is_idle: bool


@dataclass(frozen=True)
class Capacity:
    of_node: int
    of_site: int
    site_memory_mb: int

    def decide(self, site: str, memory_mb: int, running: Sequence[RunningWorker]) -> tuple[bool, list[int]]:
        """Whether a site may start another process, and which idle ones must end for it. The first process of
        a site may always have the memory that it needs."""
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
        if len(left) >= self.of_node:
            others = [each for each in left if each.is_idle]
            if not others:
                return False, []
            ended.append(min(others, key=lambda each: each.last_used))
        return True, [each.number for each in ended]
