"""Very deep directory trees: a build makes one in a moment, and Python's own functions fail on it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.node.builds import trees
from stead.node.builds.trees import MAX_DEPTH, TooDeep

LEVELS = 1500
"""More than Python's limit of recursion."""


def make_deep(root: Path, levels: int) -> None:
    root.mkdir()
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    # Not with Python, which cannot remove such a tree.
    subprocess.run(["/bin/rm", "-rf", *tmp_path.iterdir()], check=True)


def test_a_tree_that_is_too_deep_is_refused_with_a_reason(place: Path) -> None:
    make_deep(place / "tree", LEVELS)
    reason = f"nested deeper than {MAX_DEPTH} levels"
    with pytest.raises(TooDeep, match=reason):
        trees.has_files(place / "tree")
    with pytest.raises(TooDeep, match=reason):
        trees.remove_git_history(place / "tree")
    with pytest.raises(TooDeep, match=reason):
        trees.chown_tree(place / "tree", os.getuid())


def test_a_deep_tree_inside_of_a_git_history_is_refused(place: Path) -> None:
    (place / "tree").mkdir()
    make_deep(place / "tree" / ".git", LEVELS)
    with pytest.raises(TooDeep):
        trees.remove_git_history(place / "tree")


def test_a_tree_of_permitted_depth_is_handled(place: Path) -> None:
    make_deep(place / "tree", MAX_DEPTH)
    make_deep(place / "tree" / ".git", 20)
    assert not trees.has_files(place / "tree")
    trees.chown_tree(place / "tree", os.getuid())
    trees.remove_git_history(place / "tree")
    assert not (place / "tree" / ".git").exists()
