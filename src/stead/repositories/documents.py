"""The documents that are generated from the declarations of the repository gateway."""

from pathlib import Path

from stead.control.settings_page import settings_table
from stead.repositories.metrics import REPOSITORIES
from stead.repositories.settings import RepositoriesSettings
from stead.shared.generated_sections import replace_sections
from stead.shared.metrics import metrics_table


def generated(root: Path) -> dict[Path, str]:
    """Every generated file of a checkout, with its content."""
    monitoring, operations = root / "docs" / "monitoring.md", root / "docs" / "operations.md"
    return {
        monitoring: replace_sections(
            monitoring, {"metrics of the repository gateway": metrics_table(REPOSITORIES)}
        ),
        operations: replace_sections(
            operations, {"settings of the repository gateway": settings_table(RepositoriesSettings)}
        ),
    }


def write(root: Path) -> None:
    for path, text in generated(root).items():
        path.write_text(text)


def find_stale(root: Path) -> list[Path]:
    """Files whose content differs from the declarations."""
    return [path for path, text in generated(root).items() if path.read_text() != text]
