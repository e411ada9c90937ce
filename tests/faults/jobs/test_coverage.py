"""The suite covers every step of every kind of job that a feature declares."""

import importlib
from collections import Counter
from math import prod
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from stead.control.features import workflows
from stead.control.jobs.definition import Workflow
from tests.faults.jobs.cases import ANNOUNCING, EVERY, HELD, LONG, Case
from tests.faults.jobs.scenarios import refusal_of, scenario_of, view_of

pytestmark = pytest.mark.faults

FEWEST_FAULTS = 8
"""For each step of each kind of job. The steps in which only the worker works have fewer."""
FEWEST_FAULTS_OF_LONG_STEPS = 3
FEWEST_CASES, FEWEST_CASES_WITHOUT_NODE, FEWEST_CASES_OF_ONE_STEP = 20, 18, 12
"""For each kind of job, for a kind that asks no node, and for a kind with a single step."""
WORKFLOWS = list(workflows().values())
"""All of them, whichever are selected for this run."""


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_every_kind_of_job_has_a_complete_scenario(workflow: Workflow[Any]) -> None:
    scenario = scenario_of(workflow)
    for step in workflow.steps.values():
        may_refuse = step.is_transaction and scenario.refuse.get(step.name, True) is not None
        if may_refuse:
            refusal_of(workflow, step.name)
        if step.announce is not None:
            assert view_of(workflow)
    long_steps = {step.name for step in workflow.steps.values() if step.long_action is not None}
    assert scenario.long_steps.keys() == long_steps


def test_every_step_is_tested_on_a_simulated_site_on_a_live_site_or_as_a_long_step() -> None:
    tested = {str(case) for case in (*HELD, *ANNOUNCING, *LONG)}
    assert tested == {str(case) for case in EVERY}


def _count_faults() -> Counter[tuple[str, str]]:
    """The number of faults for each step of each kind, in the tests of this directory."""
    found: Counter[tuple[str, str]] = Counter()
    for path in Path(__file__).parent.glob("test_*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for name, function in vars(module).items():
            if name.startswith("test_") and isinstance(function, FunctionType):
                found += _count_faults_of_test(function)
    return found


def _count_faults_of_test(test: FunctionType) -> Counter[tuple[str, str]]:
    """A test has one fault, or is parametrized with several."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    values = {mark.args[0]: mark.args[1] for mark in marks}
    cases: list[Case] = values.pop("case", [])
    times = prod(len(others) for others in values.values())
    steps = {(case.workflow.name, case.step.name) for case in cases}
    return Counter(dict.fromkeys(steps, times))


def test_every_step_of_every_kind_of_job_has_many_faults() -> None:
    faults = _count_faults()
    long_steps = {(case.workflow.name, case.step.name) for case in LONG}
    for case in EVERY:
        step = case.workflow.name, case.step.name
        fewest = FEWEST_FAULTS_OF_LONG_STEPS if step in long_steps else FEWEST_FAULTS
        assert faults[step] >= fewest, (step, faults[step])
    for kind in {case.workflow.name for case in EVERY}:
        number = sum(count for (name, _), count in faults.items() if name == kind)
        assert number >= _fewest_cases(kind), (kind, number)


def _fewest_cases(kind: str) -> int:
    if len(workflows()[kind].steps) == 1:
        return FEWEST_CASES_OF_ONE_STEP
    asks_node = any(case.is_on_node for case in EVERY if case.workflow.name == kind)
    return FEWEST_CASES if asks_node else FEWEST_CASES_WITHOUT_NODE
