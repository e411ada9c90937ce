"""The cases of the suite: for every kind of job each of its steps, in which a fault happens."""

from dataclasses import dataclass
from typing import Any

from stead.control.features import workflows
from stead.control.jobs.definition import Step, Workflow
from tests.faults.jobs.rotation import select_workflows
from tests.faults.jobs.scenarios import Scenario, all_scenarios, scenario_of

ONLY_WITH_PROCESSES = frozenset({"password", "processes", "run", "data", "requirements", "php"})
"""The steps that need an environment with processes. The live sites of the suite are static."""


OF_FUNCTIONS = frozenset({"deployment.wasm_deploy", "deployment.wasm_rollback", "function.delete"})
"""The stack of the suite has no host of functions."""
ONLY_SIMULATED = OF_FUNCTIONS | {
    *("build.run", "environment.destroy/purge", "site.config_apply/php", "malware.scan", "malware.restore"),
    *("component.install", "site.plugin_update", "content.batch", "database.export"),
}


@dataclass(frozen=True)
class Case:
    workflow: Workflow[Any]
    step: Step
    live: bool = False
    """On a live site that visitors request, or on a simulated one, which is not announced to the edges."""
    undo: bool = False
    """The fault happens while the step is undone, because the last step of the job refuses."""
    done: bool = False
    """The fault happens when the step has had its effect and nothing records that it has."""

    def __str__(self) -> str:
        return f"{self.workflow.name}-{self.position}"

    @property
    def position(self) -> str:
        """How the database and the node call the step."""
        return f"undo-{self.step.name}" if self.undo else self.step.name

    @property
    def is_transaction(self) -> bool:
        return (self.step.undo_control if self.undo else self.step.control) is not None

    @property
    def can_be_held(self) -> bool:
        """Whether the step can be held on a simulated site: a transaction by a lock, a command on the node.
        A step that only announces something has nothing to do there."""
        return self.is_transaction or self.is_on_node

    @property
    def is_on_node(self) -> bool:
        return (self.step.undo_command if self.undo else self.step.command) is not None

    @property
    def is_on_live_node(self) -> bool:
        """Whether the real drivers of a node do the step for a live site."""
        return (
            self.is_on_node
            and self.step.announce is None
            and self.step.name not in {"route", *ONLY_WITH_PROCESSES}
        )

    @property
    def last(self) -> "Case":
        """The case of the last step of the job."""
        return cases_of(self.workflow)[-1]

    def sends_command(self, step: Step) -> bool:
        """Whether a step sends a command to the node. On a live site it may announce something to the edges
        instead, and the processes of a static site are none."""
        announces = step.announce is not None or step.name in ONLY_WITH_PROCESSES
        return step.command is not None and not (self.live and announces)

    def sends_undo_command(self, step: Step) -> bool:
        announces = step.undo_announce is not None or step.name in ONLY_WITH_PROCESSES
        return step.undo_command is not None and not (self.live and announces)

    @property
    def probes_first(self) -> bool:
        """Whether a step before this one sends a request through the edge."""
        return any(step.name == "probe" for step in self.begun_steps[:-1])

    @property
    def scenario(self) -> Scenario:
        return scenario_of(self.workflow)

    @property
    def may_refuse(self) -> bool:
        """A step may refuse unless its scenario says that it never does, or that the job goes on."""
        scenario = all_scenarios().get(self.workflow.name)
        if scenario is None:
            return True
        if self.is_on_node:
            return self.step.name not in scenario.goes_on_after
        return scenario.refuse.get(self.step.name, True) is not None

    @property
    def goes_on_after_refusal(self) -> bool:
        scenario = all_scenarios().get(self.workflow.name)
        return scenario is not None and self.step.name in scenario.goes_on_after

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
ANNOUNCING = [
    Case(case.workflow, case.step, live=True)
    for case in EVERY
    if case.step.announce is not None and case.workflow.name not in OF_FUNCTIONS
]
LONG = [case for case in EVERY if case.step.long_action is not None]
"""Steps in which the worker itself works for long."""
LAST_STEPS = [cases_of(workflow)[-1] for workflow in _WORKFLOWS]
"""One case for each kind of job: the whole of it."""
UNDONE = [
    case
    for last in LAST_STEPS
    if last.is_transaction and last.may_refuse
    for step in last.workflow.steps.values()
    if (case := Case(last.workflow, step, undo=True)).can_be_held
]
"""Steps that are undone by a transaction or on the node, when the last step of their job refuses."""
TRANSACTIONS = [case for case in HELD if case.is_transaction]
LIVE_ON_NODE = [
    Case(case.workflow, case.step, live=True)
    for case in EVERY
    if case.is_on_live_node and case.workflow.name not in ONLY_SIMULATED
]
"""Steps of live sites on the node. Builds need images, the second kind sends nothing to a live node in
its other steps, and the others are only for WordPress; they have their cases on simulated sites."""
SIMULATED_ON_NODE = [
    case
    for case in EVERY
    if case.is_on_node and Case(case.workflow, case.step, live=True) not in LIVE_ON_NODE
]
WANTED: set[str] = set()
"""The kinds of job of all tests of this run. With `-k environment.suspend` it is only that one."""
COVERED: set[tuple[str, str]] = set()
"""The faults and cases that this process has tested."""
