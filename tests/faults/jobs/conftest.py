"""One installation for the whole suite: its engines and programs are broken in turn, and mended."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.faults.jobs.cases import TRIED
from tests.faults.jobs.harness import Harness, everything

pytest.register_assert_rewrite("tests.faults.jobs.checks")

CASE = "faults-case"
FOLDER = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "faults: kills programs and engines; minutes long, run by `make faults`"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A batch of jobs is one fixture and takes minutes on a loaded machine. Every wait has its own limit."""
    for item in items:
        if FOLDER in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(1800))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What a test has shown travels with its report, so that it is counted under xdist too."""
    before = set(TRIED)
    yield
    item.user_properties += [(CASE, fault) for fault, _ in TRIED - before]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    shown = Counter(
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == CASE
    )
    told = ", ".join(f"{fault} {count}" for fault, count in sorted(shown.items()))
    if shown:
        terminalreporter.write_line(f"faults: {shown.total()} cases ({told})")


@pytest.fixture(scope="session")
async def harness() -> AsyncIterator[Harness]:
    async with everything() as harness:
        yield harness
