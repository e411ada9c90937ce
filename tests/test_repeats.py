"""`--repeat-failed` accepts a test that fails once, and nothing else."""

from pathlib import Path

import pytest

from tests.own_pytest import run_pytest
from tests.repeats import MOST

FAILS_ONCE = """
from pathlib import Path

def test_that_fails_once():
    marker = Path(__file__).with_name("marker")
    began_before = marker.exists()
    marker.touch()
    assert began_before

def test_that_passes():
    pass
"""
ALWAYS_FAILS = f"{FAILS_ONCE}\ndef test_that_always_fails():\n    assert False\n"
MANY_FAIL = f"""
import pytest

@pytest.mark.parametrize("number", range({MOST + 1}))
def test_that_fails(number):
    assert False
"""
ENDS_EARLY = f"{FAILS_ONCE}\ndef test_that_ends_the_run():\n    raise KeyboardInterrupt\n"


def _run(directory: Path, *options: str) -> tuple[int, str]:
    cache = ("-o", f"cache_dir={directory / 'cache'}")
    finished = run_pytest("-p", "tests.repeats", *cache, *options, str(directory))
    return finished.returncode, finished.stdout + finished.stderr


@pytest.mark.parametrize("processes", ["0", "1"])
def test_only_what_failed_runs_again_and_is_named(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_it.py").write_text(FAILS_ONCE)
    assert _run(tmp_path, "-n", processes)[0] == pytest.ExitCode.TESTS_FAILED
    status, said = _run(tmp_path, "--repeat-failed")
    assert status == pytest.ExitCode.OK, said
    named = [line for line in said.splitlines() if line.startswith("failed beside other tests")]
    assert [line.rpartition("::")[2] for line in named] == ["test_that_fails_once"]
    assert "1 passed" in said.splitlines()[-1]


def test_what_fails_again_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ALWAYS_FAILS)
    assert _run(tmp_path)[0] == pytest.ExitCode.TESTS_FAILED
    status, said = _run(tmp_path, "--repeat-failed")
    assert status == pytest.ExitCode.TESTS_FAILED, said
    assert "1 failed, 1 passed" in said.splitlines()[-1]


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MANY_FAIL)
    assert _run(tmp_path)[0] == pytest.ExitCode.TESTS_FAILED
    status, said = _run(tmp_path, "--repeat-failed")
    assert status == pytest.ExitCode.USAGE_ERROR, said
    assert f"{MOST + 1} tests failed" in said


def test_a_run_that_did_not_end_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ENDS_EARLY)
    assert _run(tmp_path)[0] == pytest.ExitCode.INTERRUPTED
    status, said = _run(tmp_path, "--repeat-failed")
    assert status == pytest.ExitCode.USAGE_ERROR, said
    assert "nothing to repeat" in said


def test_a_file_that_cannot_be_imported_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import a_package_that_does_not_exist")
    assert _run(tmp_path)[0] == pytest.ExitCode.INTERRUPTED
    assert _run(tmp_path, "--repeat-failed")[0] == pytest.ExitCode.USAGE_ERROR
