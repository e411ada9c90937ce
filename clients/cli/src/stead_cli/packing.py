"""Packs a folder: what `.gitignore` and `.steadignore` leave, without symbolic links that lead outside."""

import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_NEVER = frozenset({".git", ".stead", ".hg", ".svn", ".DS_Store"})
_FILES = (".gitignore", ".steadignore")


class Packed(NamedTuple):
    files: int
    bytes: int


class Rule(NamedTuple):
    """A line of an ignore file, as git reads it."""

    pattern: re.Pattern[str]
    negated: bool
    only_folders: bool


def pack(root: Path, archive: Path) -> Packed:
    files = size = 0
    with tarfile.open(archive, "w:gz", compresslevel=6) as opened:
        for path in list_files(root):
            name = path.relative_to(root).as_posix()
            entry = opened.gettarinfo(path, name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            if entry.isreg():
                with path.open("rb") as content:
                    opened.addfile(entry, content)
            else:
                opened.addfile(entry)
            files += 1
            size += entry.size
    return Packed(files, size)


def list_files(root: Path) -> Iterator[Path]:
    """Files and links in the folder, in order. Sockets and devices are left out."""
    yield from _walk(root, root, [])


def _walk(root: Path, folder: Path, inherited: list[tuple[str, Rule]]) -> Iterator[Path]:
    base = folder.relative_to(root).as_posix()
    prefix = "" if base == "." else f"{base}/"
    rules = [*inherited, *((prefix, rule) for rule in _read_rules(folder))]
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name in _NEVER or _is_ignored(f"{prefix}{entry.name}", is_folder, rules):
            continue
        path = Path(entry.path)
        if is_folder:
            yield from _walk(root, path, rules)
        elif (entry.is_symlink() and _stays_inside(root, path)) or entry.is_file(follow_symlinks=False):
            yield path


def _stays_inside(root: Path, link: Path) -> bool:
    target = (link.parent / link.readlink()).resolve()
    return not link.readlink().is_absolute() and target.is_relative_to(root.resolve())


def _read_rules(folder: Path) -> list[Rule]:
    found = []
    for name in _FILES:
        file = folder / name
        if file.is_file():
            lines = file.read_text(errors="replace").splitlines()
            found += [rule for line in lines if (rule := parse_rule(line)) is not None]
    return found


def _is_ignored(path: str, is_folder: bool, rules: list[tuple[str, Rule]]) -> bool:
    """The last rule that matches decides."""
    for prefix, rule in reversed(rules):
        if rule.only_folders and not is_folder:
            continue
        if path.startswith(prefix) and rule.pattern.fullmatch(path[len(prefix) :]):
            return not rule.negated
    return False


def parse_rule(line: str) -> Rule | None:
    text = re.sub(r"(?<!\\)\s+$", "", line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text.removeprefix("\\") if text[:2] in ("\\#", "\\!") else text
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    pattern = _translate(text.removeprefix("/"))
    return Rule(re.compile(pattern if anchored else f"(?:.*/)?{pattern}"), negated, only_folders)


def _translate(glob: str) -> str:
    """`**/` is any number of folders, `*` and `?` stay inside a name."""
    found, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at):
            found, at = found + "(?:.*/)?", at + 3
        elif glob.startswith("/**", at) and at + 3 == len(glob):
            found, at = found + "/.*", at + 3
        elif glob[at] == "*":
            found, at = found + "[^/]*", at + 1
        elif glob[at] == "?":
            found, at = found + "[^/]", at + 1
        elif glob[at] == "[" and "]" in glob[at + 2 :]:
            end = glob.index("]", at + 2)
            inner = glob[at + 1 : end].replace("\\", "\\\\")
            inner = f"^{inner[1:]}" if inner.startswith("!") else inner
            found, at = f"{found}[{inner}]", end + 1
        elif glob[at] == "\\" and at + 1 < len(glob):
            found, at = found + re.escape(glob[at + 1]), at + 2
        else:
            found, at = found + re.escape(glob[at]), at + 1
    return found
