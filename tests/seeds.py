"""The seed of generated tests: a new one in every run, printed, and repeated with `STEAD_TEST_SEED`."""

import os
from random import SystemRandom

import pytest

VARIABLE = "STEAD_TEST_SEED"


def current_seed() -> int:
    """The seed of this run. The processes of a run inherit it through the environment."""
    return int(os.environ[VARIABLE])


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ.setdefault(VARIABLE, str(SystemRandom().getrandbits(32)))


def pytest_report_header() -> str:
    return _repeat()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    if exitstatus:
        terminalreporter.write_line(_repeat())


def _repeat() -> str:
    return f"seed of generated requests: {VARIABLE}={current_seed()}"
