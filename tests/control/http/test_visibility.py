"""A `Visible…` resource comes from its store, or from the service that has just made it: nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import stead.control
from stead.control.features import resolvers

CONTROL = Path(stead.control.__file__).parent
FEATURE_FILES = sorted(path for path in CONTROL.rglob("*.py") if path.parent != CONTROL / "platform")


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def makings(source: str) -> Iterator[tuple[int, str]]:
    """Where a Visible… type is called, or handed to something that may call it."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *[keyword.value for keyword in node.keywords]]
        for part in (node.func, *given):
            if name_of(part).startswith("Visible"):
                yield node.lineno, name_of(part)


def defined_in(source: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("path", FEATURE_FILES, ids=lambda path: str(path.relative_to(CONTROL)))
def test_a_visible_resource_is_made_only_where_its_rows_are_read_or_written(path: Path):
    found = list(makings(path.read_text()))
    if path.name not in ("store.py", "service.py"):
        assert found == []
    rules = path.parent / "rules.py"
    own = defined_in(rules.read_text()) if rules.exists() else set()
    assert {name for _, name in found} <= own, "a feature makes only its own resources"


@pytest.mark.parametrize("path", FEATURE_FILES, ids=lambda path: str(path.relative_to(CONTROL)))
def test_no_operation_copies_a_visible_resource_with_other_values(path: Path):
    """`dataclasses.replace` would be a way around the visibility query."""
    if path.name == "operations.py":
        called = {
            name_of(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        }
        assert not called & {"replace", "copy", "deepcopy", "__new__", "setattr", "__setattr__"}


def test_the_check_notices_what_it_looks_for():
    for guilty in (
        "VisibleKey(id)",
        "rules.VisibleKey(id)",
        "tx.one(VisibleKey, sql)",
        "f(partial(VisibleKey))",
        "f(row=rules.VisibleKey)",
    ):
        assert [name for _, name in makings(guilty)] == ["VisibleKey"]
    assert list(makings("async def get(call: Call, key: VisibleKey) -> KeyView: return view(key)")) == []


def test_every_visible_type_has_a_resolver_and_is_frozen():
    declared = {
        name for path in FEATURE_FILES for name in defined_in(path.read_text()) if name.startswith("Visible")
    }
    assert {resource.__name__ for resource in resolvers()} >= declared
    for resource in resolvers():
        config = getattr(resource, "__struct_config__", None) or getattr(resource, "__dataclass_params__")  # noqa: B009
        assert config.frozen
