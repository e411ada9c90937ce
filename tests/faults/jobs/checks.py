"""What must be true of a job that has ended, and of its site, whatever happened while it ran."""

from dataclasses import replace

from tests.faults.jobs.cases import COVERED, Case
from tests.faults.jobs.outcomes import Outcome
from tests.faults.jobs.scenarios import ExpectedState, Refusal


def check_succeeded(case: Case, outcome: Outcome, *, times: int = 1) -> None:
    """The job succeeded, every step was done once, and the site is as it should be. `times` is how often the
    node may have begun the step of the case."""
    assert (outcome.status, outcome.error) == ("succeeded", None)
    assert set(outcome.result) <= case.workflow.kind.results
    own_event = [] if case.scenario.event is None else [case.scenario.event]
    assert sorted(outcome.events) == sorted([*own_event, "job.succeeded"])
    steps = case.workflow.steps.values()
    assert outcome.control_steps == {step.name for step in steps if step.control}
    assert {name: entry.state for name, entry in outcome.node_steps.items()} == {
        step.name: "done" for step in steps if case.sends_command(step)
    }
    for name, entry in outcome.node_steps.items():
        assert 1 <= entry.carried_out <= (times if name == case.step.name else 1), (name, entry)
    assert outcome.has_dataset == ("data" in case.workflow.steps and not case.live)
    check_site(outcome, case.scenario.succeeded)


def check_failed(
    case: Case,
    outcome: Outcome,
    code: str,
    message: str,
    *,
    refused: bool = False,
    lost: bool = False,
    repeated: str = "",
) -> None:
    """The job failed with this error and one event, and every step that had begun was undone once.

    The step of the case may have been done before it was undone, unless it `refused`. When the workflow was
    `lost`, it is unknown which steps had begun, and more may be undone. The node may have begun the step
    `repeated` twice.
    """
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert (outcome.error["code"], outcome.error["message"]) == (code, message)
    own_event = [] if case.scenario.failure_event is None else [case.scenario.failure_event]
    assert sorted(outcome.events) == sorted([*own_event, "job.failed"])
    _check_control_steps(case, outcome, refused=refused, lost=lost)
    _check_node_steps(case, outcome, lost=lost, repeated=repeated)
    assert not outcome.has_dataset


def _check_control_steps(case: Case, outcome: Outcome, *, refused: bool, lost: bool) -> None:
    done = {step.name for step in case.begun_steps[:-1] if step.control}
    undone = {f"undo-{step.name}" for step in case.begun_steps if step.undo_control}
    possible = {case.step.name} if case.step.undo_control and not refused else set()
    possible |= {f"undo-{name}" for name in case.workflow.steps} if lost else set()
    assert outcome.control_steps - possible == (done | undone) - possible


def _check_node_steps(case: Case, outcome: Outcome, *, lost: bool, repeated: str) -> None:
    undone = {f"undo-{step.name}" for step in case.begun_steps if case.sends_undo_command(step)}
    done = {step.name for step in case.begun_steps[:-1] if case.sends_command(step)}
    for name in undone | done:
        entry = outcome.node_steps[name]
        assert entry.state == "done", name
        assert 1 <= entry.carried_out <= (2 if name == repeated else 1), name
    begun = {step.name for step in case.begun_steps if case.sends_command(step)}
    others = outcome.node_steps.keys() - begun - undone
    if lost:
        others = {name for name in others if not name.startswith("undo-")}
    assert not any(outcome.node_steps[name].carried_out for name in others), others


def check_site(outcome: Outcome, expected: ExpectedState, *, reason: str | None = None) -> None:
    assert outcome.subject["status"] == expected.status
    assert outcome.subject["status_reason"] == (reason if expected.has_reason else None)
    assert (outcome.site["recoverable_until"] is not None) == (outcome.site["status"] == "deleted")
    assert outcome.site["php_version"] == expected.php_version
    assert outcome.hosts == (outcome.own_hosts if expected.routed else set())
    assert outcome.is_on_node == expected.on_node
    assert (outcome.environment["node_id"] is not None) == expected.assigned
    assert outcome.settings == expected.settings
    assert outcome.shows == expected.shows


def check_site_after_refusal(case: Case, outcome: Outcome, refusal: Refusal) -> None:
    expected = case.scenario.failed_in(case.step.name)
    if refusal.status is not None:
        expected = replace(expected, status=refusal.status, has_reason=False)
    if refusal.assigned is not None:
        expected = replace(expected, assigned=refusal.assigned)
    check_site(outcome, expected, reason=refusal.message)


def record_covered(fault: str, case: Case) -> None:
    COVERED.add((fault, f"{case} live" if case.live else str(case)))
