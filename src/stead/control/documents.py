"""What is generated from the declarations and committed, so that a change to the API shows in review."""

import json
from pathlib import Path

from stead.control import permissions
from stead.control.features import all_operations, event_catalog, id_prefixes
from stead.control.http import error_pages, openapi
from stead.control.outbox import event_pages

_BEGIN, _END = "<!-- generated: permissions -->\n", "<!-- end -->"


def description() -> str:
    return json.dumps(openapi.document(all_operations(), id_prefixes()), indent=1, ensure_ascii=False) + "\n"


def generated(root: Path) -> dict[Path, str]:
    """Every generated file under a checkout, with what it should say."""
    errors, events = root / "docs" / "errors", root / "docs" / "events"
    return {
        root / "openapi" / "v1.json": description(),
        root / "docs" / "security.md": _security_page(root / "docs" / "security.md"),
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
    """Files that do not say what the declarations do, or that nothing declares any more."""
    wanted = generated(root)
    return [
        *(path for path, text in wanted.items() if not path.exists() or path.read_text() != text),
        *_strays(root),
    ]


def _strays(root: Path) -> set[Path]:
    docs = root / "docs"
    found = {*(docs / "errors").rglob("*.md"), *(docs / "events").rglob("*.*")}
    return found - set(generated(root))


def _security_page(path: Path) -> str:
    """The page as it is written, with its tables made anew between their marks."""
    before, _, rest = path.read_text().partition(_BEGIN)
    return f"{before}{_BEGIN}{permissions.tables(all_operations())}{_END}{rest.partition(_END)[2]}"
