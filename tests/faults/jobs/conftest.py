"""One installation for all files. Its engines and programs are killed one after the other, and restarted."""

import inspect
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.jobs.cases import COVERED, WANTED, Case
from tests.faults.jobs.harness import Harness, everything
from tests.faults.jobs.rotation import meets_fault
from tests.faults.jobs.trials import FIXTURES

pytest.register_assert_rewrite("tests.faults.jobs.checks")

CASE = "faults-case"
FOLDER = Path(__file__).parent
TIMEOUT_SECONDS = 1800
"""For one test with its fixtures. A fixture runs all cases of a fault; its own bounds are much shorter."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "faults: kills programs and engines; minutes long, run by `make faults`"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (kept if _meets_its_fault(item) else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _case_of(item: pytest.Item) -> Case | None:
    if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
        case = item.callspec.params.get("case")
        return case if isinstance(case, Case) else None
    return None


def _meets_its_fault(item: pytest.Item) -> bool:
    case = _case_of(item)
    if case is None or not isinstance(item, pytest.Function):
        return True
    return all(meets_fault(case, fixture) for fixture in inspect.signature(item.function).parameters)


def pytest_collection_finish(session: pytest.Session) -> None:
    WANTED.update(case.workflow.name for case in map(_case_of, session.items) if case is not None)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
    FIXTURES.append(fixturedef.argname)
    try:
        return (yield)
    finally:
        FIXTURES.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Report what a test has covered as its properties, so that it is counted under xdist too."""
    before = set(COVERED)
    yield
    item.user_properties += [(CASE, fault) for fault, _ in COVERED - before]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    covered = Counter(
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == CASE
    )
    counts = ", ".join(f"{fault} {count}" for fault, count in sorted(covered.items()))
    if covered:
        terminalreporter.write_line(f"faults: {covered.total()} cases ({counts})")


@pytest.fixture(scope="session")
async def harness() -> AsyncIterator[Harness]:
    async with everything() as harness:
        yield harness
