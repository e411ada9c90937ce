"""The options `--select` and `--feature` of pytest."""

import os

import pytest

from tests.selection import feature
from tests.selection.reach import list_test_files
from tests.selection.selection import (
    VARIABLE,
    Case,
    case_of,
    current_selection,
    make_selection,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("selection")
    group.addoption(
        "--select",
        default="",
        metavar="changed|SEED",
        help="execute what a change may affect and a rotating part of the rest; or repeat a selection",
    )
    group.addoption("--feature", default="", help="of tests with an operation, execute those of this feature")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.feature:
        os.environ[feature.VARIABLE] = config.option.feature
    if hasattr(config, "workerinput") or not config.option.select:
        return
    selection = make_selection(config.option.select)
    if selection is not None:
        os.environ[VARIABLE] = selection.seed


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ.pop(VARIABLE, None)
        os.environ.pop(feature.VARIABLE, None)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if not config.option.select:
        return []
    selection = make_selection(config.option.select)
    if selection is None:
        return ["selection: this is not a clone, so every test runs"]
    return selection.describe(list_test_files(config.rootpath))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection, wanted_feature = current_selection(), config.option.feature
    if selection is None and not wanted_feature:
        return
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        selected = selection is None or selection.includes(item.nodeid, _case_of(item))
        wanted = selected and _is_of(item, wanted_feature)
        (kept if wanted else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _is_of(item: pytest.Item, name: str) -> bool:
    """Whether a test is of this feature. Tests in its folder always are."""
    if not name or item.nodeid.startswith((f"tests/control/{name}/", f"tests/{name}/")):
        return True
    case = _case_of(item)
    return case is not None and feature.belongs_to(name, case.module)


def _case_of(item: pytest.Item) -> Case | None:
    callspec = getattr(item, "callspec", None)
    return case_of(callspec.params) if callspec is not None else None
