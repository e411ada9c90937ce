"""How xdist distributes the tests over its workers.

Tests that share a stack of engines and programs run in one worker, so that the stack starts once. What takes
longest starts first: a long file that starts last would leave the other workers without work. Tests that
often wait have a worker of their own until none of them is left, so that the others can use the processors.
Tests that compare the times of one minute with those of another run last, when nothing runs beside them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SHARED_STACKS = (
    "tests/edges",
    "tests/delivery",
    "tests/outages",
    "tests/journeys",
    "tests/dev",
    "tests/streams",
)
"""Directories with a stack for all of their files. Every other file is distributed on its own."""

LONGEST_FIRST = (
    "tests/faults/jobs",
    "tests/edges",
    "tests/delivery",
    "tests/outages",
    "tests/faults/webhooks",
    "tests/journeys",
    "tests/contract/test_fuzz.py",
    "tests/dev",
    "tests/matrix/test_permissions.py",
    "tests/robustness",
    "tests/control/backups/test_live.py",
    "tests/node/wordpress",
    "tests/control/audit/test_secrets_are_not_recorded.py",
    "tests/faults/test_lost_answers.py",
    "tests/faults",
    "tests/control/certificates",
    "tests/repositories",
    "tests/architecture/test_a_new_feature.py",
    "tests/abuse",
    "tests/matrix/test_tenants.py",
    "tests/node",
    "tests/streams",
    "tests/clients",
    "tests/control/environments/test_live.py",
    "tests/test_repeats.py",
    "tests/edge",
    "tests/matrix",
    "tests/contract",
    "tests/control/insights",
    "tests/control/webhooks",
    "tests/control/functions",
)
"""Files and directories that take more than a few seconds. The first entry that fits a test counts."""

OFTEN_WAIT = ("tests/faults/jobs",)
"""Directories whose tests wait for restarted engines and for retries."""

ALONE = ("tests/abuse/test_hostile_tenant.py",)
"""Files that compare times of two moments: what ran beside one of them would be part of the result."""


def unit_of(test: str) -> str:
    """The tests of a unit run in one worker, one after the other."""
    file = test.partition("::")[0]
    return next((each for each in SHARED_STACKS if _is_below(file, each)), file)


def _is_below(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/")


def _rank(test: str) -> int:
    for rank, path in enumerate(LONGEST_FIRST):
        if _is_below(test.partition("::")[0], path):
            return rank
    return len(LONGEST_FIRST)


class UnitScheduling(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    @property
    def _first(self) -> WorkerController:
        """Runs the tests that often wait, and at the end those that run alone."""
        return next(iter(self._working), self.nodes[0])

    @property
    def _working(self) -> list[WorkerController]:
        """Not those that are ending, nor one that replaces a crashed worker and collects its tests still."""
        return [node for node in self.nodes if node in self.registered_collections and not node.shutting_down]

    def _assign_work_unit(self, node: WorkerController) -> None:
        unit = next_unit(self.workqueue, waits=node is self._first)
        self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        first = self._first
        if node is not first:
            self._reschedule(first)  # it may have waited for this test to end

    def _reschedule(self, node: WorkerController) -> None:
        """When only tests remain that run alone, the first worker runs them, after the others have ended."""
        first = self._first
        if self.workqueue and all(map(_runs_alone, self.workqueue)):
            if node is not first and not node.shutting_down:
                node.shutdown()
            others = [other for other in self.nodes if other is not first]
            if node is not first or any(self._pending_of(self.assigned_work[other]) for other in others):
                return
        super()._reschedule(node)


def next_unit(queue: Iterable[str], *, waits: bool) -> str:
    """The first unit for a worker of this kind. When none is left, the worker helps the others."""
    units = list(queue)
    units = [unit for unit in units if not _runs_alone(unit)] or units
    return next((unit for unit in units if _often_waits(unit) is waits), units[0])


def _often_waits(unit: str) -> bool:
    return any(_is_below(unit, each) for each in OFTEN_WAIT)


def _runs_alone(unit: str) -> bool:
    return unit in ALONE


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> UnitScheduling:
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(unit_of(item.nodeid) for item in items)
    items.sort(key=lambda item: (_rank(item.nodeid), -sizes[unit_of(item.nodeid)], unit_of(item.nodeid)))
