"""Which workflows the fault suite executes: all of them, or with `--select` those of features that changed
and a rotating part of the others (see `tests/selection`). When most has changed, every step of these meets
a quarter of the faults, in turn."""

from collections.abc import Collection
from typing import Any

from stead.control.jobs.definition import Workflow
from tests.selection.selection import Case, current_selection

ALWAYS = frozenset({"build.run", "deployment.deploy", "job.cache_purge", "malware.scan"})
"""Every test has at least one case of these kinds: they have a step that takes long, steps of each sort with
their undo, a job that asks no node, and steps without which a job goes on."""

NO_FAULTS = frozenset({"case", "harness", "live", "undisturbed"})
"""What tests ask for beside the fixture of their fault."""


def select_workflows(workflows: Collection[Workflow[Any]]) -> list[Workflow[Any]]:
    selection = current_selection()
    if selection is None:
        return list(workflows)
    return [
        each
        for each in workflows
        if each.name in ALWAYS or selection.includes_case(Case(each.name, each.failed.__module__))
    ]


def meets_fault(case: object, fixture: str) -> bool:
    """Whether a case meets the fault of a fixture in this run."""
    selection = current_selection()
    return selection is None or fixture in NO_FAULTS or selection.includes_pair(fixture, str(case))
