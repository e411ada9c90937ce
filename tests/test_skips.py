"""`--no-skips` fails tests that skip, and parametrizations without cases fail everywhere."""

from pathlib import Path

import pytest

from tests import skips
from tests.own_pytest import run_pytest

SKIPPING = f"""
import pytest

def test_that_skips():
    pytest.skip("no network here")

@pytest.mark.skipif(True, reason="no root here")
def test_that_is_marked():
    pass

@pytest.fixture
def missing():
    pytest.skip("no server here")

def test_whose_fixture_skips(missing):
    pass

def test_that_may_skip():
    pytest.skip("{next(iter(skips.ALLOWED))}: it is elsewhere")

def test_that_runs():
    pass
"""
SKIPPING_MODULE = """
import pytest

pytest.importorskip("a_package_that_does_not_exist")
"""
WITHOUT_CASES = """
import pytest

@pytest.mark.parametrize("case", [])
def test_of_every(case):
    pass
"""


def _run(directory: Path, text: str, *options: str) -> str:
    """The summary of a run."""
    (directory / "test_it.py").write_text(text)
    plugins = ("-p", "tests.skips", "-p", "no:cacheprovider")
    return run_pytest(*plugins, "-ra", *options, str(directory / "test_it.py")).stdout


def test_a_skip_is_allowed_where_something_may_be_missing(tmp_path: Path) -> None:
    assert "1 passed, 4 skipped" in _run(tmp_path, SKIPPING)


@pytest.mark.parametrize("processes", ["0", "1"])
def test_an_unexpected_skip_fails_and_says_why(tmp_path: Path, processes: str) -> None:
    said = _run(tmp_path, SKIPPING, "--no-skips", "-n", processes)
    failed = {
        line.split("::")[1].split()[0] for line in said.splitlines() if "::" in line and "skipped" in line
    }
    assert failed == {"test_that_skips", "test_that_is_marked", "test_whose_fixture_skips"}, said
    assert "skipped with --no-skips: no server here" in said
    assert "1 passed, 1 skipped" in said


def test_a_module_that_skips_itself_fails(tmp_path: Path) -> None:
    assert "1 skipped" in _run(tmp_path, SKIPPING_MODULE)
    assert "skipped with --no-skips: could not import" in _run(tmp_path, SKIPPING_MODULE, "--no-skips")


def test_a_parametrization_without_cases_fails(tmp_path: Path) -> None:
    assert "Empty parameter set in 'test_of_every'" in _run(tmp_path, WITHOUT_CASES)
