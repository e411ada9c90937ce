"""The documents that are generated from the declarations of the node."""

from pathlib import Path

from stead.node.metrics import NODE
from stead.shared.generated_sections import replace_sections
from stead.shared.metrics import metrics_table


def generated(root: Path) -> dict[Path, str]:
    """Every generated file of a checkout, with its content."""
    monitoring = root / "docs" / "monitoring.md"
    return {monitoring: replace_sections(monitoring, {"metrics of a node": metrics_table(NODE)})}


def write(root: Path) -> None:
    for path, text in generated(root).items():
        path.write_text(text)


def find_stale(root: Path) -> list[Path]:
    """Files whose content differs from the declarations."""
    return [path for path, text in generated(root).items() if path.read_text() != text]
