"""Finds what is compiled in the folder of a function. The folder is a customer's, so no link is followed."""

import json
import stat
from pathlib import Path, PurePosixPath

from stead.artifacts.refusals import printable
from stead.node.builds import trees
from stead.node.builds.failures import BuildFailed
from stead.protocol.work.builds import FunctionLanguage

ENTRIES: dict[FunctionLanguage, tuple[str, ...]] = {
    "javascript": ("function.js", "index.js", "src/function.js", "src/index.js"),
    "typescript": ("function.ts", "index.ts", "src/function.ts", "src/index.ts"),
    "rust": ("function.rs", "lib.rs", "src/function.rs", "src/lib.rs"),
    "go": ("function.go", "main.go"),
    "c": ("function.c", "main.c", "src/function.c", "src/main.c"),
    "zig": ("function.zig", "main.zig", "src/function.zig", "src/main.zig"),
}
"""Where the file that is compiled is looked for, in this order. It imports the others."""
MOST_FILES = 200
"""Of C, which has no imports: all files beside the first one are compiled."""


def find_sources(root: Path, language: FunctionLanguage, filename: str) -> list[str]:
    """The paths of the files that the compiler is given, the most important one first."""
    if filename:
        if not _is_file(root, filename):
            raise BuildFailed(f"there is no file {printable(filename)} at the top of the folder")
        entry = filename
    else:
        entry = _find_entry(root, language)
    return [entry, *_find_others(root, entry)] if language == "c" else [entry]


def _find_entry(root: Path, language: FunctionLanguage) -> str:
    if language in ("javascript", "typescript") and (named := _read_package(root)) and _is_file(root, named):
        return named
    for candidate in ENTRIES.get(language, ()):
        if _is_file(root, candidate):
            return candidate
    expected = " or ".join(ENTRIES.get(language, ()))
    raise BuildFailed(f"there is nothing to compile: the folder has no {expected}")


def _read_package(root: Path) -> str:
    """The file that `package.json` names as the beginning; empty if it names none."""
    content = trees.read_file(root, "package.json")
    if content is None:
        return ""
    try:
        package = json.loads(content)
    except (ValueError, RecursionError):
        raise BuildFailed("package.json is not valid JSON") from None
    found = (package.get("module") or package.get("main")) if isinstance(package, dict) else ""
    path = PurePosixPath(found) if isinstance(found, str) and found else None
    if path is None or path.is_absolute() or ".." in path.parts or "\0" in str(path):
        return ""
    return str(path)


def _find_others(root: Path, entry: str) -> list[str]:
    folder = PurePosixPath(entry).parent
    names = sorted(path.name for path in (root / folder).iterdir() if path.suffix == ".c")
    if len(names) > MOST_FILES:
        raise BuildFailed(f"there are more than {MOST_FILES} files to compile")
    paths = [str(folder / name) for name in names]
    return [path for path in paths if path != entry and _is_file(root, path)]


def _is_file(root: Path, path: str) -> bool:
    """Whether it is a regular file, and nothing on the way to it is a link."""
    parent = trees.find_folder(root, str(PurePosixPath(path).parent))
    if parent is None:
        return False
    try:
        mode = (parent / PurePosixPath(path).name).lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode)
