"""The cases of the suite: for every kind of job each of its steps, in which a fault happens."""

from dataclasses import dataclass
from typing import Any

from stead.control.features import workflows
from stead.control.jobs.definition import Step, Workflow
from tests.faults.jobs.rotation import select_workflows
from tests.faults.jobs.scenarios import Scenario, all_scenarios, scenario_of


@dataclass(frozen=True)
class Case:
    workflow: Workflow[Any]
    step: Step
    live: bool = False
    """On a live site that visitors request, or on a simulated one, which is not announced to the edges."""

    def __str__(self) -> str:
        return f"{self.workflow.name}-{self.step.name}"

    @property
    def can_be_held(self) -> bool:
        """Whether the step can be held on a simulated site: a transaction by a lock, a command on the node.
        A step that only announces something has nothing to do there."""
        return self.step.is_transaction or self.is_on_node

    @property
    def is_on_node(self) -> bool:
        return self.step.command is not None

    def sends_command(self, step: Step) -> bool:
        """Whether a step sends a command to the node, and does not announce something to the edges."""
        return step.command is not None and not (self.live and step.announce is not None)

    def sends_undo_command(self, step: Step) -> bool:
        return step.undo_command is not None and not (self.live and step.undo_announce is not None)

    @property
    def probes_first(self) -> bool:
        """Whether a step before this one sends a request through the edge."""
        return any(step.name == "probe" for step in self.begun_steps[:-1])

    @property
    def scenario(self) -> Scenario:
        return scenario_of(self.workflow)

    @property
    def may_refuse(self) -> bool:
        """A control step may refuse unless its scenario says that it never does."""
        scenario = all_scenarios().get(self.workflow.name)
        return self.is_on_node or scenario is None or scenario.refuse.get(self.step.name, True) is not None

    @property
    def begun_steps(self) -> list[Step]:
        """The steps that have begun when this one runs."""
        steps = list(self.workflow.steps.values())
        return steps[: steps.index(self.step) + 1]


def cases_of(workflow: Workflow[Any]) -> list[Case]:
    return [Case(workflow, step) for step in workflow.steps.values()]


_WORKFLOWS = select_workflows(workflows().values())
EVERY = [case for workflow in _WORKFLOWS for case in cases_of(workflow)]
HELD = [case for case in EVERY if case.can_be_held]
ANNOUNCING = [Case(case.workflow, case.step, live=True) for case in EVERY if case.step.announce is not None]
LONG = [case for case in EVERY if case.step.long_action is not None]
"""Steps in which the worker itself works for long."""
LAST_STEPS = [cases_of(workflow)[-1] for workflow in _WORKFLOWS]
"""One case for each kind of job: the whole of it."""
COVERED: set[tuple[str, str]] = set()
"""The faults and cases that this process has tested."""
