"""The tour leads to files and names that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "stead"
STOPS = re.findall(
    r"^\| `([\w./]+)`(?:: `([\w.]+)`)? \|", (ROOT / "docs" / "tour.md").read_text(), re.MULTILINE
)


def _names(module: Path) -> set[str]:
    """Classes, functions and constants; members of classes as `Class.member`."""
    found: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
            members = node.body if isinstance(node, ast.ClassDef) else []
            functions = (ast.FunctionDef, ast.AsyncFunctionDef)
            found |= {f"{node.name}.{each.name}" for each in members if isinstance(each, functions)}
    return found


def test_the_tour_has_three_parts():
    assert len(STOPS) > 30


@pytest.mark.parametrize(("path", "name"), STOPS)
def test_every_stop_of_the_tour_exists(path: str, name: str):
    place = SOURCE / path
    assert place.exists()
    assert not name or name in _names(place)
