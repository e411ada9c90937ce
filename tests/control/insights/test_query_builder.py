"""A query cannot be made without a scope, and a scope cannot be made without something the caller sees."""

import ast
import inspect
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import stead.control
from stead.control.environments.rules import VisibleEnvironment
from stead.control.insights import queries
from stead.control.insights.queries import Condition, Query, Scope, Window
from stead.control.insights.rules import ReadableSites
from stead.control.insights.tables import TABLES
from stead.control.sites.rules import VisibleSite

ROOT = Path(next(iter(stead.control.__path__)))
NOW = datetime(2026, 11, 16, tzinfo=UTC)
BUILDER, SIZES = "insights/queries.py", "insights/table_store.py"
OF_THE_PLATFORM = "insights/platform_store.py"
PASSING_ON = {"app.py", "insights/service.py"}
"""They hand the connection to the builder."""


def modules_with(attribute: str, of: str = "") -> set[str]:
    """The modules that use an attribute of this name, of anything or of a variable of this name."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == attribute:
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                if of in ("", owner):
                    found.add(str(path.relative_to(ROOT)))
    return found


def test_a_scope_cannot_be_made_elsewhere() -> None:
    with pytest.raises(TypeError):
        Scope(object(), ["site_x"], ["env_x"])


def test_every_function_that_makes_a_scope_asks_for_something_visible() -> None:
    makers = [
        function
        for _, function in inspect.getmembers(queries, inspect.isfunction)
        if function.__module__ == queries.__name__ and inspect.signature(function).return_annotation is Scope
    ]
    assert makers
    for maker in makers:
        first = next(iter(inspect.signature(maker).parameters.values()))
        assert first.annotation in (VisibleSite, VisibleEnvironment, ReadableSites)


def test_sites_become_readable_only_in_the_query_for_them() -> None:
    made = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ReadableSites")
    }
    assert made == {"insights/store.py"}


def test_only_the_builder_uses_the_connection() -> None:
    assert modules_with("clickhouse") == PASSING_ON
    assert modules_with("of_account") == {"insights/service.py"}
    assert modules_with("read_up_to", of="clickhouse") == {BUILDER}
    assert modules_with("read", of="clickhouse") == {SIZES, OF_THE_PLATFORM}


def test_nothing_else_reads_a_row_of_a_table() -> None:
    texts = [
        node.value
        for node in ast.walk(ast.parse((ROOT / SIZES).read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    [query] = [text for text in texts if text.startswith("select ")]
    assert " from system.parts where " in query
    assert not any(f" {table}" in query for table in TABLES)


def test_what_is_read_about_the_platform_is_in_tables_of_its_own() -> None:
    text = (ROOT / OF_THE_PLATFORM).read_text()
    read = set(re.findall(r"\bfrom (platform_\w+)", text))
    assert read == {"platform_logs", "platform_metrics"}
    assert not any(re.search(rf"\b(from|into) {table}\b", text) for table in TABLES)


def test_every_query_is_bound_to_sites_and_a_window_and_has_limits() -> None:
    scope = Scope(queries._KEY, ["site_1"], ["env_1"])
    query = Query("requests", "count()", [Condition("method = {method:String}", {"method": "GET"})])
    statement = query.bind(scope, Window.of_hours(NOW, 24))
    assert "site_id in {sites:Array(String)} and env_id in {environments:Array(String)}" in statement.text
    assert "ts >= {first:DateTime64(3, 'UTC')} and ts < {last:DateTime64(3, 'UTC')}" in statement.text
    assert statement.parameters["sites"] == "['site_1']"
    assert float(statement.parameters["last"]) - float(statement.parameters["first"]) == 86_400
    assert {"max_execution_time", "force_primary_key", "max_rows_to_read"} <= statement.settings.keys()


def test_a_condition_cannot_undo_the_others() -> None:
    """Each condition is in parentheses."""
    scope = Scope(queries._KEY, ["site_1"], ["env_1"])
    statement = Query("requests", "count()", [Condition("1 or 1")]).bind(scope, Window.of_hours(NOW, 1))
    assert statement.text.endswith("and (1 or 1) limit 10000")
