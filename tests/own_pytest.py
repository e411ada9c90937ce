"""Runs pytest with the settings of this project, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN_SECONDS = 60


def run_pytest(*options: str) -> subprocess.CompletedProcess[str]:
    """Without the fixtures of this project: nothing is started."""
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    return subprocess.run(
        [*command, "--noconftest", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        timeout=RUN_SECONDS,
        check=False,
    )
