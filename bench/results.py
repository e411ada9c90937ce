"""The result of a benchmark: one value, its goal, and details."""

from dataclasses import dataclass, field
from statistics import median


class CouldNotRun(Exception):
    """The benchmark could not be measured; the message says why. A missed goal is not an error."""


@dataclass(frozen=True, slots=True)
class Result:
    value: float
    goal: float
    details: list[str] = field(default_factory=list)

    def lines(self, name: str) -> list[str]:
        return [f"bench {name} {self.value:.2f} goal {self.goal:g}", *(f"  {line}" for line in self.details)]


def spread(values: list[float]) -> str:
    return f"median {median(values):.2f}, {min(values):.2f} to {max(values):.2f} in {len(values)} rounds"
