"""Rules about the code that keep permissions where they can be reviewed, checked on the code itself."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

from stead.control import app, documents, features
from stead.control.feature import Feature

CONTROL = Path(app.__file__).parent
ROOT = Path(__file__).parents[2]
FEATURES = sorted(each.parent.name for each in CONTROL.glob("*/store.py"))
MODULES = sorted(CONTROL.rglob("*.py"))


def _tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def _imports(module: Path) -> frozenset[str]:
    """Every module or name that is imported, written in full."""
    return frozenset(_find_imports(module))


def _find_imports(module: Path) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide whose store it is"
            yield str(node.module)
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _called(module: Path) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Call):
            function = node.func
            yield function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _feature_of(module: Path) -> str:
    """The folder in `control`. A feature may have packages."""
    return module.relative_to(CONTROL).parts[0]


def test_there_is_something_to_check():
    assert {"teams", "members", "invites", "projects", "sites", "keys", "audit", "plans"} <= set(FEATURES)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_store_is_imported_only_inside_its_feature(feature: str):
    store = f"stead.control.{feature}.store"
    outside = [
        str(module.relative_to(CONTROL))
        for module in MODULES
        if _feature_of(module) != feature
        and any(name == store or name.startswith(f"{store}.") for name in _imports(module))
    ]
    assert outside == []


def test_what_is_visible_is_made_only_by_a_query():
    """A `Visible…` in hand means that the visibility query found it; keys are also made by minting."""
    made = {
        str(module.relative_to(CONTROL))
        for module in MODULES
        if any(name.startswith("Visible") for name in _called(module))
    }
    assert {place for place in made if not place.endswith("store.py")} <= {"keys/service.py"}
    minting = [name for name in _called(CONTROL / "keys" / "service.py") if name.startswith("Visible")]
    assert minting in ([], ["VisibleKey"])


def test_only_the_store_of_a_feature_speaks_sql():
    words = ("select ", "insert into ", "update ", "delete from ")
    writing = {
        str(module.relative_to(CONTROL))
        for module in MODULES
        if not module.name.endswith(("store.py", "queue.py")) and _feature_of(module) in FEATURES
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.startswith(words)
    }
    # It makes every query of ClickHouse: tests/control/insights/test_query_builder.py.
    assert writing == {"insights/queries.py"}


def test_no_import_contract_is_about_a_package_and_something_in_it():
    """Such a pair is left out without a word, and with it everything in the package."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    unchecked = [
        contract["name"]
        for contract in contracts
        if contract["type"] == "forbidden" and contract.get("as_packages", True)
        for source in contract["source_modules"]
        for forbidden in contract["forbidden_modules"]
        if f"{forbidden}.".startswith(f"{source}.") or f"{source}.".startswith(f"{forbidden}.")
    ]
    assert unchecked == []


def test_no_modules_import_each_other_in_a_circle():
    """At the level of modules, not folders: a folder follows the product, whoever imports whom."""
    graph = grimp.build_graph("stead")
    for name in features.NAMES:
        graph.add_import(importer="stead.control.features", imported=f"stead.control.{name}.feature")
    below: dict[str, set[str]] = {
        module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules
    }
    while free := {module for module, imported in below.items() if not imported}:
        below = {module: imported - free for module, imported in below.items() if module not in free}
    assert sorted(below) == [], "these import each other in a circle, or import one that does"


@pytest.mark.parametrize("feature", features.FEATURES, ids=lambda feature: feature.name)
def test_a_feature_is_named_like_its_folder(feature: Feature):
    assert (CONTROL / feature.name / "feature.py").exists()


def test_the_generated_pages_say_what_the_declarations_do():
    assert documents.stale(ROOT) == []


def test_the_security_page_lists_every_operation_and_role():
    page = (ROOT / "docs" / "security.md").read_text()
    assert [each.id for each in features.all_operations() if f"| `{each.id}` |" not in page] == []
