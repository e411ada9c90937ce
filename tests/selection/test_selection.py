"""Which tests a change selects in this repository."""

import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from stead.artifacts.packer import pack_layer
from stead.control.features import FEATURES, NAMES, all_operations
from tests.scheduling import unit_of
from tests.selection.history import ROOT, Change
from tests.selection.reach import Reach
from tests.selection.selection import PARTS, Case, Selection, case_of, part_of

FILES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py"))
FEATURES_WITH_TESTS = [name for name in NAMES if any(ROOT.glob(f"tests/control/{name}/test_*.py"))]


def selection(*files: str, parts: Collection[int] = ()) -> Selection:
    change = Change("0" * 40, "for the test", range(1, 2), frozenset(files))
    return Selection(change, Reach(change.files), frozenset(parts))


def selected(chosen: Selection) -> set[str]:
    return {file for file in FILES if chosen.includes(f"{file}::test")}


def test_a_changed_test_runs_itself_and_those_that_rotate_themselves() -> None:
    assert {
        file for file in selected(selection("tests/shared/test_ids.py")) if "faults/jobs" not in file
    } == {"tests/shared/test_ids.py"}


def test_a_module_selects_the_tests_that_import_it_through_others() -> None:
    module = sys.modules[pack_layer.__module__].__file__
    assert module is not None
    chosen = selected(selection(str(Path(module).relative_to(ROOT))))
    assert {"tests/artifacts/test_packing.py", "tests/delivery/test_serving.py"} <= chosen
    assert "tests/shared/test_scopes.py" not in selected(selection("src/stead/node/journal.py"))


def test_a_conftest_selects_every_test_below_it() -> None:
    chosen = selected(selection("tests/edges/conftest.py"))
    assert {file for file in FILES if file.startswith("tests/edges/")} <= chosen


@pytest.mark.parametrize("feature", FEATURES_WITH_TESTS)
def test_any_module_of_a_feature_selects_the_tests_of_the_feature(feature: str) -> None:
    chosen = selected(selection(f"src/stead/control/{feature}/feature.py"))
    assert {file for file in FILES if file.startswith(f"tests/control/{feature}/")} <= chosen


def test_a_template_selects_the_tests_of_its_package() -> None:
    (template, *_) = sorted(
        path.relative_to(ROOT)
        for path in ROOT.glob("src/stead/edge/**/*")
        if path.suffix in {".conf", ".lua"}
    )
    chosen = selected(selection(str(template)))
    assert {file for file in FILES if file.startswith("tests/edge/test_routing")} <= chosen


@pytest.mark.parametrize(
    "file", ["pyproject.toml", "requirements.lock", "migrations/versions/new.py", ".ci/run"]
)
def test_a_file_that_may_affect_everything_selects_everything(file: str) -> None:
    assert selected(selection(file)) == set(FILES)


def test_a_document_selects_only_the_tests_that_read_documents() -> None:
    chosen = selected(selection("docs/tour.md"))
    assert {"tests/dev/test_readme.py", "tests/docs/test_tour.py"} <= chosen
    assert "tests/edges/test_cut_off.py" not in chosen


def test_cases_of_an_affected_operation_run_in_the_suites_of_every_operation() -> None:
    chosen = selection("src/stead/control/webhooks/operations.py")
    for operation in all_operations():
        case = case_of({"operation": operation})
        assert case is not None
        if case.module.startswith("stead.control.webhooks."):
            assert chosen.includes("tests/contract/test_fuzz.py::test", case)
    cases = [case_of({"operation": operation}) for operation in all_operations()]
    assert not all(chosen.includes("tests/contract/test_fuzz.py::test", case) for case in cases)


def test_consecutive_commits_execute_every_test_and_every_case_once() -> None:
    cases = [Case(operation.id, operation.handler.__module__) for operation in all_operations()]
    kinds = [Case(each.name, each.failed.__module__) for feature in FEATURES for each in feature.workflows]
    turns = [selection("CHANGELOG.md", parts=[part]) for part in range(PARTS)]
    for file in FILES:
        expected = PARTS if file.startswith("tests/faults/jobs/") else 1
        assert sum(each.includes(f"{file}::test") for each in turns) == expected, file
    for case in cases:
        assert sum(each.includes("tests/matrix/test_permissions.py::test", case) for each in turns) == 1
    for kind in kinds:
        assert sum(each.includes_case(kind) for each in turns) == 1


def test_no_part_is_empty_or_has_most_of_the_tests() -> None:
    units = {unit_of(file) for file in FILES}
    sizes = [sum(part_of(unit) == part for unit in units) for part in range(PARTS)]
    assert min(sizes) > len(units) / PARTS / 2
    assert max(sizes) < len(units) / PARTS * 2


def test_the_seed_names_the_commit_and_the_parts() -> None:
    assert selection("docs/tour.md", parts=[2, 1]).seed == f"{'0' * 12}:1,2"
