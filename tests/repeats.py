"""The option `--repeat-failed` of pytest: tests that failed in the last run, again and one after the other.

A run of everything starts thousands of programs on two cores, which it may share with other machines. A test
that fails there and passes alone is reported by name: it is a bug to find, but no reason to reject a change
that it has nothing to do with. One that fails again fails the run, and so does a run that did not end.
"""

import pytest

MOST = 10
"""If more have failed, it was not chance."""
LAST_EXIT = "stead/last_exit"
"""How the run before ended, in the cache of pytest."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--repeat-failed",
        action="store_true",
        help=f"execute the failed tests of the last run, at most {MOST}",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not config.option.repeat_failed:
        return
    config.option.lf = True
    config.option.last_failed_no_failures = "none"


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not config.option.repeat_failed:
        return
    assert config.cache is not None
    if config.cache.get(LAST_EXIT, None) != pytest.ExitCode.TESTS_FAILED:
        raise pytest.UsageError("The last run did not end with failed tests, so there is nothing to repeat.")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.repeat_failed and len(items) > MOST:
        raise pytest.UsageError(f"{len(items)} tests failed in the last run. At most {MOST} are repeated.")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    cache = getattr(config, "cache", None)  # it can be turned off
    if cache is not None and not hasattr(config, "workerinput"):
        cache.set(LAST_EXIT, int(exitstatus))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.option.repeat_failed:
        return
    for report in terminalreporter.getreports("passed"):
        terminalreporter.write_line(f"failed beside other tests and passed alone: {report.nodeid}")
