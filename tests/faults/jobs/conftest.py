"""One installation for all files. Its engines and programs are killed one after the other, and restarted."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.faults.jobs.cases import COVERED, WANTED, Case
from tests.faults.jobs.harness import Harness, everything

pytest.register_assert_rewrite("tests.faults.jobs.checks")

CASE = "faults-case"
FOLDER = Path(__file__).parent
TIMEOUT_SECONDS = 1800
"""For one test with its fixtures. A fixture runs all cases of a fault; its own bounds are much shorter."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "faults: kills programs and engines; minutes long, run by `make faults`"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


def pytest_collection_finish(session: pytest.Session) -> None:
    for item in session.items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            case = item.callspec.params.get("case")
            if isinstance(case, Case):
                WANTED.add(case.workflow.name)


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
