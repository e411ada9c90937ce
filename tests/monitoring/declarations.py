"""What the programs declare, and what they serve."""

from prometheus_client.parser import text_string_to_metric_families

from stead.control.metrics import API, WORKER
from stead.node.metrics import NODE
from stead.repositories.metrics import REPOSITORIES
from stead.shared.metrics import MetricDeclaration, Metrics

PROGRAMS: dict[str, Metrics] = {"api": API, "worker": WORKER, "repositories": REPOSITORIES, "node": NODE}
SUFFIXES = {"counter": (""), "gauge": (""), "histogram": ("_bucket", "_sum", "_count")}


def all_declared() -> list[MetricDeclaration]:
    return [each for metrics in PROGRAMS.values() for each in metrics.declared]


def series_names(metric: MetricDeclaration) -> set[str]:
    """The names that a query can use."""
    return {metric.name + suffix for suffix in (SUFFIXES[metric.type] or ("",))}


def read_samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples of a page of metrics, by name."""
    samples: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return samples
