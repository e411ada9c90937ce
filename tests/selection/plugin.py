"""The options `--select` and `--feature` of pytest."""

import os

import pytest

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
    if hasattr(config, "workerinput") or not config.option.select:
        return
    selection = make_selection(config.option.select)
    if selection is not None:
        os.environ[VARIABLE] = selection.seed


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ.pop(VARIABLE, None)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if not config.option.select:
        return []
    selection = make_selection(config.option.select)
    if selection is None:
        return ["selection: this is not a clone, so every test runs"]
    files = {str(path.relative_to(config.rootpath)) for path in config.rootpath.glob("tests/**/test_*.py")}
    return selection.describe(files)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection, feature = current_selection(), config.option.feature
    if selection is None and not feature:
        return
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        selected = selection is None or selection.includes(item.nodeid, _case_of(item))
        wanted = selected and _is_of(item, feature)
        (kept if wanted else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _is_of(item: pytest.Item, feature: str) -> bool:
    """Tests in the folder of the feature always are."""
    if not feature or item.nodeid.startswith((f"tests/control/{feature}/", f"tests/{feature}/")):
        return True
    case = _case_of(item)
    return case is not None and case.module.startswith(f"stead.control.{feature}.")


def _case_of(item: pytest.Item) -> Case | None:
    callspec = getattr(item, "callspec", None)
    return case_of(callspec.params) if callspec is not None else None
