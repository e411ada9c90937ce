"""What must be true of a job that has ended, and of its site, whatever happened on the way."""

from tests.faults.jobs.cases import TRIED, Case, Outcome
from tests.faults.jobs.scenarios import Left


def succeeded(case: Case, seen: Outcome, *, times: int = 1) -> None:
    """`times` is how often the node may have begun the step of the case."""
    assert (seen.status, seen.error) == ("succeeded", None)
    assert set(seen.result) <= case.kind.kind.results
    told = [] if case.scenario.event is None else [case.scenario.event]
    assert sorted(seen.events) == sorted([*told, "job.succeeded"])
    steps = case.kind.steps.values()
    assert seen.control == {step.name for step in steps if step.control}
    assert {name: entry.state for name, entry in seen.node.items()} == {
        step.name: "done" for step in steps if case.asks(step)
    }
    for name, entry in seen.node.items():
        assert 1 <= entry.carried_out <= (times if name == case.step.name else 1), (name, entry)
    left(seen, case.scenario.succeeded)


def failed(
    case: Case, seen: Outcome, code: str, message: str, *, refused: bool = False, lost: bool = False
) -> None:
    """It says why, once; and every step that had begun was undone, once. A step that can be undone may have
    been done before it was, unless it refused. Where nobody knows what had begun, more may be undone."""
    assert seen.status == "failed"
    assert seen.error is not None
    assert (seen.error["code"], seen.error["message"]) == (code, message)
    told = [] if case.scenario.failure_event is None else [case.scenario.failure_event]
    assert sorted(seen.events) == sorted([*told, "job.failed"])
    before = case.begun[:-1]
    by_control = {f"undo-{step.name}" for step in case.begun if step.undo_control}
    perhaps = {case.step.name} if case.step.undo_control and not refused else set()
    perhaps |= {f"undo-{name}" for name in case.kind.steps} if lost else set()
    assert seen.control - perhaps == ({step.name for step in before if step.control} | by_control) - perhaps
    by_node = {f"undo-{step.name}" for step in case.begun if case.asks_to_undo(step)}
    for name in by_node:
        assert (seen.node[name].state, seen.node[name].carried_out) == ("done", 1), name
    for step in before:
        if case.asks(step):
            assert (seen.node[step.name].state, seen.node[step.name].carried_out) == ("done", 1), step.name
    begun = {step.name for step in case.begun if case.asks(step)}
    never = seen.node.keys() - begun - by_node
    if lost:
        never = {name for name in never if not name.startswith("undo-")}
    assert not any(seen.node[name].carried_out for name in never), never


def left(seen: Outcome, expected: Left, *, reason: str | None = None) -> None:
    assert seen.subject["status"] == expected.status
    assert seen.subject["status_reason"] == (reason if expected.reason else None)
    assert (seen.site["recoverable_until"] is not None) == (seen.site["status"] == "deleted")
    assert seen.hosts == (seen.names if expected.routed else set())
    assert seen.carried == expected.carried
    assert (seen.environment["node_id"] is not None) == expected.placed
    assert seen.said == expected.said
    assert seen.shows == expected.shows


def tried(fault: str, case: Case) -> None:
    TRIED.add((fault, f"{case} live" if case.live else str(case)))
