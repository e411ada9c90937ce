"""What the fault suite has to know about a kind of job.

A feature declares the scenarios of its jobs in `tests/control/<feature>/fault_scenarios.py`, as a constant
`SCENARIOS` by the name of the kind.
"""

import importlib
import importlib.util
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from stead.control.features import FEATURES
from stead.control.jobs.definition import Workflow
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.sites import SiteUnderTest

Settings = dict[str, Any]
Rules = list[dict[str, Any]]
Sight = tuple[int, str]
"""What a visitor gets: the status, and the redirect's target or the edge's reason for an error."""


@dataclass(frozen=True)
class OwnerSettings:
    """What the owner of a site has configured, as the database has it."""

    site: Settings = field(default_factory=dict)
    environment: Settings = field(default_factory=dict)
    redirects: Rules = field(default_factory=list)


@dataclass(frozen=True)
class ExpectedState:
    """The state of a site after a job; of the environment, if the job was about one besides production."""

    status: str
    routed: bool
    """Whether its hosts lead to it."""
    on_node: bool
    """Whether the node has its environment."""
    assigned: bool
    """Whether a node is assigned to it in the database."""
    has_reason: bool = False
    """Whether the site states the reason for its status."""
    settings: OwnerSettings = OwnerSettings()
    php_version: str | None = None
    """The version that the site shows."""
    shows: int = 0
    """The artifact that visitors see: 1 for the oldest, 0 for none."""


@dataclass(frozen=True)
class View:
    """What a visitor of a live site gets before a job and after it."""

    old: Sight
    new: Sight
    path: str = "/"


@dataclass(frozen=True)
class Refusal:
    code: str
    message: str
    status: str | None = None
    """The status of the site afterwards, if the cause of the refusal decides it."""
    assigned: bool | None = None


Prepare = Callable[[Harness], Awaitable[SiteUnderTest]]
Start = Callable[[Harness, SiteUnderTest], Awaitable[str]]
Refuse = Callable[[Harness, SiteUnderTest], Awaitable[Refusal]]
IsInStep = Callable[[str], Awaitable[Any]]
"""Tells whether a job is in the step that is held."""
Hold = Callable[[Harness], AbstractAsyncContextManager[IsInStep]]


@dataclass(frozen=True, kw_only=True)
class LongStep:
    """How a step in which the worker itself works for long is held."""

    hold: Hold
    artifacts: tuple[int, int]
    """How many artifacts the site has when the job has succeeded, and when it was cancelled."""
    prepare: Prepare | None = None
    start: Start | None = None
    """If they differ from those of the scenario."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    prepare: Prepare
    """Creates a site in the state that the job starts from."""
    start: Start
    """Starts the job, and returns its id."""
    succeeded: ExpectedState
    failed: ExpectedState
    event: str | None
    """The event that is published once when the job succeeds."""
    failure_event: str | None = None
    follow_up: Start
    """Starts a job that must succeed after this one has failed."""
    cancelled_before_start: ExpectedState
    failed_at: Mapping[str, ExpectedState] = field(default_factory=dict)
    """The state after a failure in certain steps, if it differs from `failed`."""
    refuse: Mapping[str, Refuse | None] = field(default_factory=dict)
    """Makes a control step refuse; called before the job is claimed. None if the step never refuses."""
    goes_on_after: frozenset[str] = frozenset()
    """The steps on the node whose refusal does not stop the job."""
    view: View | None = None
    """Required if a step announces something to the edges."""
    long_steps: Mapping[str, LongStep] = field(default_factory=dict)
    """Required for every step with a long action, by the name of the step."""

    def failed_in(self, step: str) -> ExpectedState:
        return self.failed_at.get(step, self.failed)


@cache
def all_scenarios() -> dict[str, Scenario]:
    found: dict[str, Scenario] = {}
    for feature in FEATURES:
        module = f"tests.control.{feature.name}.fault_scenarios"
        if feature.workflows and _exists(module):
            given = importlib.import_module(module).SCENARIOS
            assert not found.keys() & given.keys(), f"two features give {found.keys() & given.keys()}"
            found |= given
    return found


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def has_scenario(workflow: Workflow[Any]) -> bool:
    return workflow.name in all_scenarios()


def scenario_of(workflow: Workflow[Any]) -> Scenario:
    assert has_scenario(workflow), (
        f"{workflow.name} has no fault scenario: add it to SCENARIOS in the feature's"
        " tests/control/<feature>/fault_scenarios.py."
    )
    return all_scenarios()[workflow.name]


def refusal_of(workflow: Workflow[Any], step: str) -> Refuse:
    refuse = scenario_of(workflow).refuse.get(step)
    assert refuse is not None, (
        f"The scenario of {workflow.name} does not say what makes the step {step} refuse: add the step to"
        " `refuse`, with None if it never refuses."
    )
    return refuse


def view_of(workflow: Workflow[Any]) -> View:
    view = scenario_of(workflow).view
    assert view is not None, (
        f"The scenario of {workflow.name} does not say what visitors get while it announces something to the"
        " edges: add `view`."
    )
    return view
