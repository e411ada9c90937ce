"""Writes the generated files of all clients; with `--check`, names those that differ."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from clients.generator import cli, functions, python, typescript
from clients.generator.description import Description

ROOT = Path(__file__).parents[2]
GENERATED = (
    str(functions.HOST),
    str(functions.TOOLCHAIN),
    "clients/cli/src/stead_cli/operations",
    "clients/python/src/stead_sdk/_async/resources",
    "clients/python/src/stead_sdk/_sync",
    "clients/typescript/src/resources",
)
"""Folders that contain nothing else."""


def generated(root: Path) -> dict[Path, str]:
    described = Description(root / "openapi" / "v1.json")
    return {path: _formatted(path, text) for path, text in _files(described, root)}


def _files(described: Description, root: Path) -> Iterator[tuple[Path, str]]:
    yield from python.files(described, root)
    yield from cli.files(described, root)
    yield from typescript.files(described, root)
    yield from functions.files(root)


def _formatted(path: Path, text: str) -> str:
    if path.suffix != ".py":
        return text
    for command in (["check", "--quiet", "--fix-only", "--select=I,F401"], ["format"]):
        done = subprocess.run(
            [Path(sys.executable).parent / "ruff", *command, f"--stdin-filename={path}", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout
    return text


def strays(root: Path, wanted: dict[Path, str]) -> list[Path]:
    found = [path for folder in GENERATED for path in (root / folder).rglob("*.*") if path.suffix != ".pyc"]
    return [path for path in found if path not in wanted]


def main(arguments: list[str]) -> int:
    wanted = generated(ROOT)
    if "--check" in arguments:
        stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        for path in [*stale, *strays(ROOT, wanted)]:
            sys.stderr.write(f"{path.relative_to(ROOT)} differs from the description: run `make generate`\n")
        return 1 if stale or strays(ROOT, wanted) else 0
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in strays(ROOT, wanted):
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
