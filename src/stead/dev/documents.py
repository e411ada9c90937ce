"""The files that are generated from the declarations of engines and programs: package lists and tables."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from stead.dev.engines import ENGINES
from stead.dev.stack import ALL_PROGRAMS
from stead.shared.generated_sections import replace_sections

PACKAGE_LIST = "packages.txt"


def debian_packages() -> list[str]:
    """The Debian packages of all engines and programs, in the order of their declarations."""
    return list(dict.fromkeys(package for kind in ALL_PROGRAMS for package in kind.packages.debian))


def python_packages() -> list[str]:
    """The Python packages of all engines, which are the extra `engines` of pyproject.toml."""
    return list(dict.fromkeys(package for kind in ALL_PROGRAMS for package in kind.packages.python))


def generated(root: Path) -> dict[Path, str]:
    """Every generated file of a checkout, with its content."""
    engines, operations = root / "docs" / "engines.md", root / "docs" / "operations.md"
    project = root / "pyproject.toml"
    return {
        project: _replace_engines_extra(project.read_text()),
        root / PACKAGE_LIST: "".join(f"{package}\n" for package in debian_packages()),
        engines: replace_sections(engines, {"engines": _engine_table()}),
        operations: replace_sections(operations, {"engines that are down": _failure_table()}),
    }


def write(root: Path) -> None:
    for path, text in generated(root).items():
        path.write_text(text)


def find_stale(root: Path) -> list[Path]:
    """Files whose content differs from the declarations."""
    return [path for path, text in generated(root).items() if not path.exists() or path.read_text() != text]


def _replace_engines_extra(project: str) -> str:
    """The text of pyproject.toml with the Python packages of the engines as the extra `engines`."""
    return re.sub(
        r"^engines = .*$", f"engines = {json.dumps(sorted(python_packages()))}", project, flags=re.MULTILINE
    )


def _engine_table() -> str:
    heading = ("Purpose", "Engine", "Why this one", "In production", "On a development machine")
    documentation = [engine.documentation for engine in ENGINES]
    return _table(
        heading, [(it.purpose, it.product, it.reason, it.production, it.development) for it in documentation]
    )


def _failure_table() -> str:
    documentation = [engine.documentation for engine in ENGINES]
    return _table(("Down", "What still works"), [(it.title, it.when_down) for it in documentation])


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
