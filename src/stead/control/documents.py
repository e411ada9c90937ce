"""Files that are generated from the declarations. They are committed, so that reviews show API changes."""

import json
from pathlib import Path

from stead.artifacts.site_rules import site_file
from stead.control import metrics, permissions
from stead.control.features import all_operations, event_catalog, id_prefixes, job_results
from stead.control.http import error_pages, openapi
from stead.control.outbox import event_pages
from stead.control.settings_page import settings_table
from stead.shared.generated_sections import replace_sections
from stead.shared.metrics import labels_table, metrics_table


def description() -> str:
    return (
        json.dumps(
            openapi.document(all_operations(), id_prefixes(), job_results()), indent=1, ensure_ascii=False
        )
        + "\n"
    )


def site_file_schema() -> str:
    """The JSON Schema of `stead.json`, also at `/docs/stead.schema.json`."""
    return json.dumps(site_file.json_schema(), indent=1, ensure_ascii=False) + "\n"


def generated(root: Path) -> dict[Path, str]:
    """Every generated file of a checkout, with its content."""
    errors, events = root / "docs" / "errors", root / "docs" / "events"
    security, operations = root / "docs" / "security.md", root / "docs" / "operations.md"
    monitoring = root / "docs" / "monitoring.md"
    return {
        root / "openapi" / "v1.json": description(),
        root / "docs" / "stead.schema.json": site_file_schema(),
        security: replace_sections(security, {"permissions": permissions.tables(all_operations())}),
        operations: replace_sections(operations, {"settings": settings_table()}),
        monitoring: replace_sections(
            monitoring,
            {
                "metrics of the API": metrics_table(metrics.API),
                "metrics of a worker": metrics_table(metrics.WORKER),
                "labels": labels_table(),
            },
        ),
        **{errors / path: text for path, text in error_pages.pages().items()},
        **{events / path: text for path, text in event_pages.pages(event_catalog()).items()},
    }


def write(root: Path) -> None:
    for path, text in generated(root).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for stray in _strays(root):
        stray.unlink()


def stale(root: Path) -> list[Path]:
    """Files that differ from the declarations, and files that are no longer generated."""
    wanted = generated(root)
    return [
        *(path for path, text in wanted.items() if not path.exists() or path.read_text() != text),
        *_strays(root),
    ]


def _strays(root: Path) -> set[Path]:
    docs = root / "docs"
    found = {*(docs / "errors").rglob("*.md"), *(docs / "events").rglob("*.*")}
    return found - set(generated(root))
