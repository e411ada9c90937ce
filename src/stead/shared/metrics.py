"""Declares the metrics of a program for Prometheus. Each is declared once; its name, meaning and labels are
documented from the declaration (`docs/monitoring.md`).

Values of labels come from the code or from the operator, never from customers. So a metric has a bounded
number of series, and contains no identifier of a tenant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client import (
    Counter as Counter,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from stead.shared.supervision import TaskStatus

CONTENT_TYPE = CONTENT_TYPE_LATEST
LABELS = {
    "operation": "the id of an operation of the API; `none` for an unknown path",
    "status": "a status code of HTTP",
    "reason": "why a connection was closed: the code of an error, `stalled` or `connections`",
    "task": "the name of a background task",
    "kind": "a kind of job, or of work that a node does",
    "step": "the name of a step; `undo-` and the name for its undo",
    "code": "`done`, `cancelled`, `retried` or the code of an error ([`errors/`](errors))",
    "outcome": "what became of an attempt",
    "node": "the id of a node",
    "memory": "the name of a shared memory of nginx ([`edge.md`](edge.md#memory))",
}
"""Every label, and where its values come from."""

MetricType = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class MetricDeclaration:
    name: str
    type: MetricType
    meaning: str
    labels: tuple[str, ...]


class Metrics:
    """The metrics of one program, in the order of their declaration."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.declared: list[MetricDeclaration] = []
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def counter(self, name: str, meaning: str, *labels: str) -> Counter:
        self._declare(name, "counter", meaning, labels)
        return Counter(name, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        self._declare(name, "gauge", meaning, labels)
        return Gauge(name, meaning, labels, registry=self.registry)

    def histogram(self, name: str, meaning: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        self._declare(name, "histogram", meaning, labels)
        return Histogram(name, meaning, labels, registry=self.registry, buckets=buckets)

    def value(self, name: str, **labels: str) -> float | None:
        """The current value of a sample; None if there is none."""
        return self.registry.get_sample_value(name, labels)

    def render(self) -> bytes:
        """What Prometheus receives."""
        return generate_latest(self.registry)

    def _declare(self, name: str, type_: MetricType, meaning: str, labels: tuple[str, ...]) -> None:
        if unknown := set(labels) - LABELS.keys():
            raise TypeError(f"{name}: describe {sorted(unknown)} in LABELS first")
        self.declared.append(MetricDeclaration(name, type_, meaning, labels))


class TaskMetrics:
    """The metrics that every program has about its supervised tasks. Pass its methods to a `Supervisor`."""

    def __init__(self, metrics: Metrics) -> None:
        self._failures = metrics.counter(
            "stead_task_failures_total",
            "Failures of background tasks. Each is logged as `task.failed` with its location, and the task"
            " is started again.",
            "task",
        )
        self._failing = metrics.gauge(
            "stead_task_failing", "1 while a background task keeps failing, as in `/readyz`.", "task"
        )

    def watch(self, task: str, status: TaskStatus) -> None:
        """Export a task from its start, so that its first failure is an increase."""
        self._failures.labels(task)
        self._failing.labels(task).set_function(lambda: float(status.is_failing))

    def count_failure(self, task: str) -> None:
        self._failures.labels(task).inc()


def set_all(gauge: Gauge, values: Mapping[str, float]) -> None:
    """Set the values of a gauge by its only label. Series that have no value any more are removed."""
    for label, value in values.items():
        gauge.labels(label).set(value)
    for family in gauge.collect():
        for sample in family.samples:
            (label,) = sample.labels.values()
            if label not in values:
                gauge.remove(label)


def metrics_table(metrics: Metrics) -> str:
    """For the documentation: every metric of a program with its labels and its meaning."""
    rows = [f"| `{_with_labels(each)}` | {each.type} | {each.meaning} |\n" for each in metrics.declared]
    return "".join(["| Metric | Type | Meaning |\n", "|---|---|---|\n", *rows])


def labels_table() -> str:
    """For the documentation: every label with its values."""
    rows = [f"| `{label}` | {values} |\n" for label, values in LABELS.items()]
    return "".join(["| Label | Values |\n", "|---|---|\n", *rows])


def _with_labels(metric: MetricDeclaration) -> str:
    return f"{metric.name}{{{','.join(metric.labels)}}}" if metric.labels else metric.name
