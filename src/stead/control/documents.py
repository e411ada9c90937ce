"""What is generated from the declarations and committed, so that a change to the API shows in review."""

import json
from pathlib import Path

from stead.control.app import all_operations
from stead.control.platform import error_pages, openapi


def description() -> str:
    return json.dumps(openapi.document(all_operations()), indent=1, ensure_ascii=False) + "\n"


def write_error_pages(folder: Path) -> None:
    wanted = error_pages.pages()
    for stray in set(folder.rglob("*.md")) - {folder / path for path in wanted}:
        stray.unlink()
    for path, text in wanted.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def stale_error_pages(folder: Path) -> list[str]:
    wanted = {folder / path: text for path, text in error_pages.pages().items()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stray = set(folder.rglob("*.md")) - set(wanted)
    return sorted(str(path) for path in [*stale, *stray])
