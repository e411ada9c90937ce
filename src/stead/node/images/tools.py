"""Runs the programs that images are made with."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stead.node.images.recipe import ImageUnavailable

_TIMEOUT_SECONDS = 900.0


def run_tool(argv: Sequence[str], *, stdin: str = "", cwd: Path | None = None) -> str:
    """Returns the output; raises ImageUnavailable if the program fails."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            cwd=cwd,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise ImageUnavailable(f"{argv[0]} did not end within {_TIMEOUT_SECONDS:g} s") from None
    if done.returncode != 0:
        raise ImageUnavailable(f"{argv[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    # With the operator's npm and apt settings, proxies and certificates, but without the node's secrets.
    return {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")} | {
        "LC_ALL": "C.UTF-8"
    }
