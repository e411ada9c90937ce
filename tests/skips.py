"""The option `--no-skips` of pytest: a skipped test fails, unless its reason is on the list.

Tests may skip where a developer's machine lacks something: root, a network namespace, an SSH server. A
machine that decides whether work lands has all of it. There, a skip is a test that silently stopped testing.
"""

from collections.abc import Generator

import pytest

ALLOWED = {
    "the original is not beside this checkout": "the copy in this repository is always compared",
}
"""Beginnings of reasons for which a test may skip anywhere, and why."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail tests that skip for an unexpected reason")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.option.no_skips:
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if collector.config.option.no_skips:
        _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = _reason(report)
    if not reason.startswith(tuple(ALLOWED)):
        report.outcome = "failed"
        report.longrepr = (
            f"skipped with --no-skips: {reason}. Install what is missing, or see tests/skips.py."
        )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What the test said, without the `Skipped: ` that pytest puts in front."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
