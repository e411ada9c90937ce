"""Which workflows the fault suite executes: all of them, or with `--select` those of features that changed
and a rotating part of the others (see `tests/selection`)."""

from collections.abc import Collection
from typing import Any

from stead.control.jobs.definition import Workflow
from tests.selection.selection import Case, current_selection


def select_workflows(workflows: Collection[Workflow[Any]]) -> list[Workflow[Any]]:
    selection = current_selection()
    if selection is None:
        return list(workflows)
    return [each for each in workflows if selection.includes_case(Case(each.name, each.failed.__module__))]
