"""Decides for each test whether a run executes it."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any
from zlib import crc32

from stead.control.features import all_operations
from stead.control.http.operations import Operation
from tests.scheduling import LONGEST_FIRST, unit_of
from tests.selection.history import Change, NoHistory, change_since, find_change
from tests.selection.reach import Reach, source_of

PARTS = 4
"""Of a change that reaches most tests, the part of the last commit runs: all of them take longer than a
landing may."""
CHANGED = "changed"
VARIABLE = "STEAD_TEST_SELECTION"
"""Contains the seed for the workers of xdist, so that all of them select the same tests."""
ROTATE_THEMSELVES = "tests/faults/jobs/"
"""These tests execute many jobs in one fixture, and ask `includes_case` and `includes_pair` which ones."""
SLOW_CASES = {
    "tests/contract/test_fuzz.py",
    "tests/matrix/test_permissions.py",
    "tests/control/audit/test_secrets_are_not_recorded.py",
}
"""Each operation takes seconds in these files. After a change of most operations, they run for a part of the
operations."""


@dataclass(frozen=True)
class Selection:
    change: Change
    reach: Reach
    parts: frozenset[int]
    """The parts that run of the unaffected tests, and of `SLOW_CASES` if most operations are affected."""

    @property
    def seed(self) -> str:
        """Selects the same tests again: `make test SELECT=<seed>`."""
        return f"{self.change.base[:12]}:{','.join(map(str, sorted(self.parts)))}"

    def includes(self, test: str, case: "Case | None" = None) -> bool:
        """`case` is the operation that the test is parametrized with."""
        file = test.partition("::")[0]
        if case is not None and file in SLOW_CASES and self._affects_most_operations:
            return part_of(file, case.name) in self.parts
        if file.startswith(ROTATE_THEMSELVES) or self._always_runs(file):
            return True
        if case is None:
            return part_of(unit_of(file)) in self.parts
        return self._is_affected(case) or part_of(file, case.name) in self.parts

    def includes_case(self, case: "Case") -> bool:
        """For tests that execute many cases at once. They ask `includes_pair`, too."""
        reach = self.reach
        affected = reach.affects_directly(case.module) if reach.broad else reach.affects(case.module)
        return affected or part_of("", case.name) in self.parts

    def includes_pair(self, fault: str, case: str) -> bool:
        """Whether a step of a job that runs meets this fault: of a broad change, a part of the faults."""
        return not self.reach.broad or part_of(fault, case) in self.parts

    def _always_runs(self, file: str) -> bool:
        reach = self.reach
        if reach.sweeping:
            return reach.has_changed(file)
        return reach.includes_directly(file) if reach.broad else reach.includes(file)

    @cached_property
    def _affects_most_operations(self) -> bool:
        operations = all_operations()
        affected = sum(self._is_affected(_case_of_operation(each)) for each in operations)
        return self.reach.sweeping and affected > len(operations) / 2

    def _is_affected(self, case: "Case") -> bool:
        reach = self.reach
        if reach.sweeping:
            return reach.has_changed(source_of(case.module))
        return reach.affects_directly(case.module) if reach.broad else reach.affects(case.module)

    def describe(self, files: Iterable[str]) -> list[str]:
        change, known = self.change, set(files)
        reached, direct, changed = (
            sum(map(reaches, known))
            for reaches in (self.reach.includes, self.reach.includes_directly, self.reach.has_changed)
        )
        why = f" ({self.reach.everything} may affect every test)" if self.reach.everything else ""
        direct_ones = f"; {direct} test a changed package or have changed" if self.reach.broad else ""
        changed_ones = f"; {changed} have changed" if self.reach.sweeping else ""
        return [
            f"selection: {len(change.files)} files changed since {change.base[:12]}: {change.reason}",
            f"selection: {reached} of {len(known)} test files reach a change{why}{direct_ones}{changed_ones};"
            f" of the other tests, {_name_parts(self.parts)}"
            f" (commits {change.commits[0]} to {change.commits[-1]})",
            *self._describe_slow_cases(),
            f"selection: repeat it with SELECT={self.seed}",
        ]

    def _describe_slow_cases(self) -> list[str]:
        if not self._affects_most_operations:
            return []
        return [
            f"selection: {', '.join(sorted(SLOW_CASES))} run for {_name_parts(self.parts)} of the operations"
        ]


def current_selection() -> Selection | None:
    """The selection of this run. None means everything."""
    seed = os.environ.get(VARIABLE)
    return make_selection(seed) if seed else None


@cache
def make_selection(wanted: str) -> Selection | None:
    """`wanted` is "changed" or the seed of an earlier selection. None means everything."""
    if wanted == CHANGED:
        try:
            change = find_change()
        except NoHistory:
            return None
        reach = Reach(change.files)
        return Selection(change, reach, frozenset(number % PARTS for number in _turns(change, reach)))
    base, _, numbers = wanted.partition(":")
    change = change_since(base, "the commit of the seed")
    parts = frozenset(int(number) for number in numbers.split(",") if number)
    return Selection(change, Reach(change.files), parts)


def _turns(change: Change, reach: Reach) -> range:
    """The numbers of the commits whose part of the other tests runs."""
    return change.commits[-1:] if reach.broad else change.commits


def part_of(unit: str, case: str = "") -> int:
    """Stable when tests are added. Long units are dealt out in turn, so that the parts take equally long."""
    if not case and unit in LONGEST_FIRST:
        return LONGEST_FIRST.index(unit) % PARTS
    return crc32(f"{unit} {case}".encode()) % PARTS


@dataclass(frozen=True)
class Case:
    """An operation or a kind of job, and the module that implements it."""

    name: str
    module: str


def case_of(parameters: Mapping[str, Any]) -> Case | None:
    """The operation that a test is parametrized with."""
    for value in parameters.values():
        if isinstance(value, Operation):
            return _case_of_operation(value)
    return None


def _case_of_operation(operation: Operation) -> Case:
    return Case(operation.id, operation.handler.__module__)


def _name_parts(parts: Collection[int]) -> str:
    if len(parts) >= PARTS:
        return f"all {PARTS} parts"
    return f"part {' and '.join(map(str, sorted(parts)))} of {PARTS} (from 0)"
