"""Which kinds of job are tried: all of them, or with `FAULTS=part` a rotating half and what has changed.

Every commit takes the half that its own hash names, so that a run can be repeated, and so that commit after
commit all of them have their turn. Besides it takes every kind of a feature in which it changed something.
"""

import os
import subprocess
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import Any

from stead.control.features import FEATURES
from stead.control.jobs.definition import Workflow

PARTS = 2
_ROOT = Path(__file__).parents[3]
_FEATURES = PurePath("src/stead/control")


def chosen(kinds: Collection[Workflow[Any]]) -> list[Workflow[Any]]:
    if os.environ.get("FAULTS") != "part":
        return list(kinds)
    try:
        turn, changed = int(_git("rev-parse", "HEAD")[:8], 16) % PARTS, _changed_features()
    except (OSError, subprocess.CalledProcessError):
        # Not a clone: nothing says whose turn it is.
        return list(kinds)
    return [kind for n, kind in enumerate(kinds) if n % PARTS == turn or _feature_of(kind) in changed]


def _feature_of(kind: Workflow[Any]) -> str:
    return next(feature.name for feature in FEATURES if kind in feature.workflows)


def _changed_features() -> set[str]:
    paths = map(PurePath, _git("show", "--first-parent", "--name-only", "--format=").splitlines())
    return {path.relative_to(_FEATURES).parts[0] for path in paths if path.is_relative_to(_FEATURES)}


def _git(*words: str) -> str:
    argv = ["git", "-C", str(_ROOT), "-c", f"safe.directory={_ROOT}", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
