"""Which tests a change selects in this repository."""

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from stead.artifacts.packer import pack_layer
from stead.control.features import FEATURES, NAMES, all_operations
from tests.faults.jobs.rotation import ALWAYS
from tests.scheduling import unit_of
from tests.selection.history import LANDED, ROOT, Change, change_since
from tests.selection.reach import Reach, list_test_files, source_of
from tests.selection.selection import PARTS, SLOW_CASES, Case, Selection, case_of, part_of

COLLECT_SECONDS = 300
FILES = list_test_files()
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
    reach = selection(str(Path(module).relative_to(ROOT))).reach
    assert reach.includes("tests/artifacts/test_packing.py")
    assert reach.includes("tests/delivery/test_serving.py")
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
def test_a_file_that_may_affect_everything_selects_half_of_it_and_what_has_changed(file: str) -> None:
    """The whole suite takes longer than a landing may: `make everything` is for that."""
    changed = selection(
        file,
        "tests/shared/test_ids.py",
        "src/stead/control/webhooks/rules.py",
        "src/stead/node/databases/dumps.py",
        "tests/outages/conftest.py",
    )
    assert changed.reach.broad
    chosen = selected(changed)
    assert "tests/shared/test_ids.py" in chosen
    for folder in ("tests/control/webhooks", "tests/node/databases", "tests/outages", "tests/faults/jobs"):
        assert {each for each in FILES if each.startswith(f"{folder}/")} <= chosen
    for folder in ("tests/control/sites", "tests/node/wordpress", "tests/edges", "tests/journeys"):
        assert not {each for each in FILES if each.startswith(f"{folder}/")} & chosen
    webhooks, sites = (Case("a", f"stead.control.{name}.operations") for name in ("webhooks", "sites"))
    assert changed.includes_case(webhooks)
    assert changed.includes("tests/contract/test_fuzz.py::test", webhooks)
    assert not changed.includes_case(sites)
    halves = [selection(file, parts=parts) for parts in ([0, 1], [2, 3])]
    assert set.union(*map(selected, halves)) == set(FILES)
    assert set.intersection(*map(selected, halves)) == {each for each in FILES if "faults/jobs" in each}


def test_a_change_of_most_packages_selects_the_changed_tests_and_a_quarter_of_the_others() -> None:
    everywhere = _in_every_package()
    operations = "src/stead/control/webhooks/operations.py"
    changed = selection(*everywhere, "tests/shared/test_ids.py", operations)
    assert changed.reach.sweeping
    assert {each for each in selected(changed) if "faults/jobs" not in each} == {"tests/shared/test_ids.py"}
    webhooks, sites = (Case("a", f"stead.control.{name}.operations") for name in ("webhooks", "sites"))
    assert changed.includes("tests/contract/test_fuzz.py::test", webhooks)
    assert not changed.includes("tests/contract/test_fuzz.py::test", sites)
    quarters = [selection(*everywhere, parts=[part]) for part in range(PARTS)]
    for file in set(FILES) - {each for each in FILES if "faults/jobs" in each}:
        assert sum(each.includes(f"{file}::test") for each in quarters) == 1
    assert sum(each.includes_pair("nats_crashed", "site.delete-copy") for each in quarters) == 1
    assert all(each.includes_case(sites) for each in quarters)


def test_of_a_change_of_most_operations_slow_tests_run_for_a_part_of_them_in_turn() -> None:
    sources = {source_of(each.handler.__module__) for each in all_operations()}
    changed = [*_in_every_package(), *sources, *SLOW_CASES]
    quarters = [selection(*changed, parts=[part]) for part in range(PARTS)]
    case = Case("sites.get", "stead.control.sites.operations")
    assert set(FILES) >= SLOW_CASES
    for file in SLOW_CASES:
        assert sum(each.includes(f"{file}::test", case) for each in quarters) == 1
        assert all(each.includes(f"{file}::test") for each in quarters), "a test of a changed file"
    assert all(each.includes("tests/contract/test_every_body.py::test", case) for each in quarters)


def _in_every_package() -> list[str]:
    """A file that may affect every test, and a new one in each package."""
    packages = {file.parent.relative_to(ROOT) for file in ROOT.glob("src/stead/**/*.py")}
    return ["pyproject.toml", *(str(package / "new.py") for package in packages)]


def test_of_a_broad_change_every_step_of_a_job_meets_a_quarter_of_the_faults_in_turn() -> None:
    quarters = [selection("pyproject.toml", parts=[part]) for part in range(PARTS)]
    pairs = [(fault, case) for fault in ("nats_crashed", "cancelled") for case in ("site.delete-copy", "a-b")]
    for pair in pairs:
        assert sum(quarter.includes_pair(*pair) for quarter in quarters) == 1
        assert selection("docs/tour.md").includes_pair(*pair)


def test_a_document_selects_only_the_tests_that_read_documents() -> None:
    chosen = selected(selection("docs/tour.md"))
    assert {"tests/dev/test_readme.py", "tests/docs/test_tour.py"} <= chosen
    assert "tests/edges/test_cut_off.py" not in chosen


def test_the_name_of_the_last_landing_affects_no_test() -> None:
    assert {file for file in selected(selection(LANDED)) if "faults/jobs" not in file} == set()


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


def test_the_smallest_selection_leaves_a_case_for_every_test_of_faults() -> None:
    """A parametrization without cases is an error, and would fail a run that selects little.

    The folder above is named: the cases of a folder that is named itself are listed before the selection is
    known, so all of them would be there."""
    ours = ("PYTEST_", "STEAD_TEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--select=HEAD:", "tests/faults"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=COLLECT_SECONDS,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-2000:]
    kinds = {each.name for feature in FEATURES for each in feature.workflows}
    executed = {kind for kind in kinds if f"[{kind}-" in found.stdout}
    # Uncommitted changes select more.
    if not change_since("HEAD", "for the test").files:
        assert executed == ALWAYS
