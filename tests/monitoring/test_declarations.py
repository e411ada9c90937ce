"""Metrics are declared once, documented, bounded, and free of identifiers of tenants."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from stead.control import metrics
from stead.control.features import workflows
from stead.control.jobs import measurements
from stead.shared.metrics import LABELS, MetricDeclaration, Metrics, set_all
from tests.monitoring.declarations import PROGRAMS, all_declared

SOURCES = Path(__file__).parents[2] / "src" / "stead"
PAGE = (SOURCES.parents[1] / "docs" / "monitoring.md").read_text()
OF_TASKS = {"stead_task_failures_total", "stead_task_failing"}
"""Every program has these."""
TENANT_WORDS = ("account", "team", "site", "env", "environment", "domain", "host", "email", "job", "key")


@pytest.mark.parametrize("metric", all_declared(), ids=lambda metric: metric.name)
def test_a_metric_has_a_conventional_name_and_is_documented(metric: MetricDeclaration) -> None:
    assert metric.name.startswith("stead_")
    assert metric.name.endswith("_total") == (metric.type == "counter")
    assert metric.meaning.endswith(".")
    assert f"| `{metric.name}" in PAGE


@pytest.mark.parametrize("metric", all_declared(), ids=lambda metric: metric.name)
def test_no_label_can_hold_an_identifier_of_a_tenant(metric: MetricDeclaration) -> None:
    assert set(metric.labels) <= LABELS.keys()
    assert not set(metric.labels) & set(TENANT_WORDS)


def test_no_two_programs_use_a_name_for_different_things() -> None:
    counted = Counter(each.name for each in all_declared())
    assert {name for name, count in counted.items() if count > 1} == OF_TASKS


def test_metrics_are_declared_nowhere_else() -> None:
    importing = [
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if any(
            isinstance(node, ast.Import | ast.ImportFrom) and "prometheus_client" in ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert importing == ["shared/metrics.py"]


def test_a_label_without_a_description_is_refused() -> None:
    with pytest.raises(TypeError, match="site"):
        Metrics().gauge("stead_visits", "Visits.", "site")


def test_a_code_that_this_version_does_not_document_is_counted_as_internal() -> None:
    """A node could send a million different ones."""
    assert measurements.known_code("node.short_of_space") == "node.short_of_space"
    assert measurements.known_code("x" * 100) == "internal"


def test_a_series_without_a_value_is_removed() -> None:
    program = Metrics()
    gauge = program.gauge("stead_silence", "Silence.", "node")
    set_all(gauge, {"one": 1, "two": 2})
    set_all(gauge, {"two": 3})
    assert program.value("stead_silence", node="one") is None
    assert program.value("stead_silence", node="two") == 3


def test_the_number_of_series_of_the_largest_metrics_is_bounded() -> None:
    """The histogram of steps has one series for each bucket of each step and undo of each kind."""
    steps = sum(2 * len(workflow.steps) for workflow in workflows().values())
    assert steps * (len(metrics.STEP_SECONDS) + 3) < 10_000


def test_every_program_has_metrics() -> None:
    assert all(metrics_.declared for metrics_ in PROGRAMS.values())
