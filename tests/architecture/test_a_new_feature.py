"""A feature is a folder and one line: a feature is added to a copy of the tree, and everything finds it."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from filecmp import dircmp
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).parent / "greetings"
COPIED = ("src", "tests", "migrations", "openapi", "docs", "pyproject.toml", "packages.txt")
LIST = Path("src/stead/control/features.py")
FOLDER = Path("src/stead/control/greetings")
TESTS = Path("tests/control/greetings")
SECONDS = 900
"""Generous: each command starts engines of its own, on a machine that may be busy."""

pytestmark = pytest.mark.timeout(SECONDS + 60)


@dataclass(frozen=True)
class Tree:
    root: Path

    def run(self, *argv: str) -> str:
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("PYTEST_", "STEAD_"))
            },
            "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}",
        }
        done = subprocess.run(
            [sys.executable, *argv],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout

    def passed(self, *argv: str) -> Counter[str]:
        """How many tests passed in each file; a failure is an error."""
        output = self.run("-m", "pytest", "-v", "-p", "no:cacheprovider", *argv)
        return Counter(line.split("::")[0] for line in output.splitlines() if " PASSED " in line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    root = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        elif source.exists():
            shutil.copy(source, root / name)
    shutil.copytree(EXAMPLE / "feature", root / FOLDER)
    shutil.copytree(EXAMPLE / "samples", root / TESTS)
    names = (root / LIST).read_text()
    (root / LIST).write_text(names.replace('    "cache",\n', '    "cache",\n    "greetings",\n'))
    return Tree(root)


def _differences(left: Path, right: Path) -> set[Path]:
    """Files that differ or exist on one side only; `right` is the root of the paths."""
    found = dircmp(left, right, ignore=["__pycache__"])
    here = {right / name for name in (*found.diff_files, *found.left_only, *found.right_only)}
    return here.union(*(_differences(left / name, right / name) for name in found.common_dirs))


def test_one_line_outside_its_folder_adds_a_feature(tree: Tree):
    changed = {
        path.relative_to(tree.root)
        for name in ("src", "tests", "migrations")
        for path in _differences(ROOT / name, tree.root / name)
    }
    assert changed == {LIST, FOLDER, TESTS}
    before, after = (root / LIST for root in (ROOT, tree.root))
    assert len(after.read_text().splitlines()) - len(before.read_text().splitlines()) == 1


def test_it_is_described(tree: Tree):
    tree.run("-m", "stead.steadctl", "generate")
    described = json.loads((tree.root / "openapi" / "v1.json").read_text())
    (path,) = (path for path in described["paths"] if path.endswith("/greetings"))
    assert described["paths"][path]["post"]["operationId"] == "greetings.send"
    assert (tree.root / "docs" / "events" / "schemas" / "greeting.sent.json").exists()
    assert "`greetings.send`" in (tree.root / "docs" / "security.md").read_text()


def test_it_is_served_walked_and_in_the_matrix(tree: Tree):
    suites = walk, matrix, tenants = (
        "tests/contract/test_every_operation.py",
        "tests/matrix/test_permissions.py",
        "tests/matrix/test_tenants.py",
    )
    passed = tree.passed(*suites, "-k", "greetings.send")
    assert passed[walk] >= 5
    assert passed[matrix] >= 3
    assert passed[tenants] >= 1


def test_its_event_and_its_task_are_known(tree: Tree):
    program = (
        "from stead.control import features\n"
        "(feature,) = [each for each in features.FEATURES if each.name == 'greetings']\n"
        "assert 'greeting.sent' in features.event_catalog()\n"
        "assert 'greeting.send' in features.workflows()\n"
        "print(*[task.name for task in feature.tasks(None)])\n"
    )
    assert tree.run("-c", program).split() == ["greetings.check_database"]


def test_its_job_is_in_the_fault_suite(tree: Tree):
    refusals = "tests/faults/jobs/test_refusals.py"
    assert tree.passed(refusals, "-k", "greeting.send")[refusals] >= 2
