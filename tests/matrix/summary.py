"""Says at the end of a run how much the matrix covered, also when its parts ran in several processes."""

import pytest

COMBINATIONS = "matrix combinations"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    counts = [
        value
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == COMBINATIONS and report.when == "call"
    ]
    if counts:
        terminalreporter.write_line(f"matrix: {sum(counts)} combinations in {len(counts)} operations")
