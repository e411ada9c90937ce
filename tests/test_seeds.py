"""Every run has its own seed, says which, and repeats the requests of an earlier run."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import seeds
from tests.patience import slowdown

ROOT = Path(__file__).parents[1]
RUN_SECONDS = 60
GENERATED = """
from random import Random

from tests.seeds import current_seed

def test_that_fails():
    assert not f"drew {Random(current_seed()).random()}"
"""


def _run(directory: Path, given: str = "", *options: str) -> tuple[str, str]:
    """The seed that a run of pytest prints, and what its test drew."""
    (directory / "test_it.py").write_text(GENERATED)
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    environment.pop(seeds.VARIABLE, None)
    if given:
        environment[seeds.VARIABLE] = given
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    options = ("-p", "tests.seeds", "-p", "no:cacheprovider", "--noconftest", "-q", *options)
    finished = subprocess.run(
        [*command, *options, str(directory / "test_it.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=RUN_SECONDS * slowdown(),
        check=False,
    )
    printed = re.search(rf"{seeds.VARIABLE}=(\d+)", finished.stdout)
    drawn = re.search(r"drew [0-9.e-]+", finished.stdout)
    assert printed, finished.stdout + finished.stderr
    assert drawn, finished.stdout + finished.stderr
    return printed[1], drawn[0]


def test_runs_differ_and_the_printed_seed_repeats_one_in_every_process(tmp_path: Path) -> None:
    seed, drawn = _run(tmp_path, "", "-n1")
    assert _run(tmp_path, seed, "-n0") == (seed, drawn)
    assert _run(tmp_path, "", "-n0") != (seed, drawn)
