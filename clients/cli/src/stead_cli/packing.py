"""Packs a folder: what `.gitignore` and `.steadignore` leave, without symbolic links that lead outside."""

import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stead_cli.ignore_rules import Rule, parse_rule

_NEVER = frozenset({".git", ".stead", ".hg", ".svn", ".DS_Store"})
_FILES = (".gitignore", ".steadignore")


class Packed(NamedTuple):
    files: int
    bytes: int


def pack(root: Path, archive: Path) -> Packed:
    files = size = 0
    with tarfile.open(archive, "w:gz", compresslevel=6) as opened:
        for path in list_files(root):
            name = path.relative_to(root).as_posix()
            entry = opened.gettarinfo(path, name)
            if entry.islnk():
                # The second name of a file is another file: hard links mean nothing elsewhere.
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
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
    top = _top_of(root)
    names = root.resolve().relative_to(top).parts
    rules: list[tuple[int, Rule]] = []
    for depth in range(len(names)):
        found = _read_rules(top.joinpath(*names[:depth]))
        rules += [(depth, rule) for rule in found if not _is_about(rule, names[depth:])]
    yield from _walk(root, root, names, rules)


def _top_of(root: Path) -> Path:
    """The repository that the folder is in, whose rules are also about it; or the linked folder."""
    folders = (root.resolve(), *root.resolve().parents)
    for mark in (".git", ".stead/project.json"):
        for folder in folders:
            if (folder / mark).exists():
                return folder
    return folders[0]


def _is_about(rule: Rule, names: Sequence[str]) -> bool:
    """Whether the rule leaves out the whole folder (`/dist/*`), which somebody wants to publish."""
    names_it = rule.is_anchored and rule.names[0] is not None
    return names_it and not rule.negated and rule.matches((*names, "\0"), is_folder=True)


def _walk(
    root: Path, folder: Path, names: Sequence[str], inherited: list[tuple[int, Rule]]
) -> Iterator[Path]:
    """`names` is the path of the folder from the top. Rules come with the depth of the folder they are in."""
    rules = [*inherited, *((len(names), rule) for rule in _read_rules(folder))]
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        is_folder, inside = entry.is_dir(follow_symlinks=False), (*names, entry.name)
        if entry.name in _NEVER or _is_ignored(inside, is_folder, rules):
            continue
        path = Path(entry.path)
        if is_folder:
            yield from _walk(root, path, inside, rules)
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
            # Names of files are read in the same way: they need not be UTF-8.
            lines = file.read_text(encoding="utf-8-sig", errors="surrogateescape").split("\n")
            found += [rule for line in lines if (rule := parse_rule(line)) is not None]
    return found


def _is_ignored(names: Sequence[str], is_folder: bool, rules: list[tuple[int, Rule]]) -> bool:
    """The last rule that matches decides."""
    for depth, rule in reversed(rules):
        if rule.matches(names[depth:], is_folder=is_folder):
            return not rule.negated
    return False
