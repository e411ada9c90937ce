"""The suite covers every step of every kind of job that a feature declares."""

from typing import Any

import pytest

from stead.control.features import workflows
from stead.control.jobs.definition import Workflow
from tests.faults.jobs.cases import ANNOUNCING, EVERY, HELD, LONG
from tests.faults.jobs.scenarios import refusal_of, scenario_of, view_of

pytestmark = pytest.mark.faults

WORKFLOWS = list(workflows().values())
"""All of them, whichever are selected for this run."""


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_every_kind_of_job_has_a_complete_scenario(workflow: Workflow[Any]) -> None:
    scenario = scenario_of(workflow)
    for step in workflow.steps.values():
        if step.is_transaction and scenario.refuse.get(step.name, refusal_of) is not None:
            assert refusal_of(workflow, step.name)
        if step.announce is not None:
            assert view_of(workflow)
    long_steps = {step.name for step in workflow.steps.values() if step.long_action is not None}
    assert scenario.long_steps.keys() == long_steps


def test_every_step_is_tested_on_a_simulated_site_on_a_live_site_or_as_a_long_step() -> None:
    tested = {str(case) for case in (*HELD, *ANNOUNCING, *LONG)}
    assert tested == {str(case) for case in EVERY}
