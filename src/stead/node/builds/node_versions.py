"""Which version of Node.js a project is for. Only the first number counts: each has one version here."""

import re
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node.builds import trees
from stead.node.builds.failures import BuildFailed
from stead.node.images.recipes import NODE_VERSIONS

DEFAULT = "24"
"""The one of the image `static`."""
VERSION_FILES = (".nvmrc", ".node-version")
LTS = {"lts/*": "24", "lts/iron": "20", "lts/jod": "22", "lts/krypton": "24", "node": "24", "stable": "24"}

_VERSION = re.compile(r"v?([0-9]{1,4})((?:\.(?:[0-9]{1,4}|[xX*])){0,2})(?:-[0-9A-Za-z.-]+)?")
_COMPARATOR = re.compile(r"(>=|<=|>|<|=|\^|~)?\s*v?([0-9xX*][0-9A-Za-z.*-]*)")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_MAX_RANGE = 200

_Version = tuple[int, int, int]
_Interval = tuple[_Version, _Version]
"""From the first to below the second."""
_ALL: _Interval = ((0, 0, 0), (100_000, 0, 0))


def choose(root: Path, engines: str) -> str:
    """The first number of the version: what `.nvmrc` or `.node-version` says, or else the newest that
    `engines` of package.json allows."""
    for name in VERSION_FILES:
        content = trees.read_file(root, name)
        if content is not None:
            return _of_file(name, content.decode(errors="replace").strip())
    return _of_engines(engines.strip()) if engines.strip() else DEFAULT


def _of_file(name: str, text: str) -> str:
    major = LTS.get(text.lower())
    if major is None:
        found = _VERSION.fullmatch(text)
        major = found[1] if found else ""
    if major not in NODE_VERSIONS:
        raise _unavailable(name, text)
    return major


def _of_engines(text: str) -> str:
    allowed = _majors(text) if len(text) <= _MAX_RANGE else []
    if not allowed:
        raise _unavailable("engines.node of package.json", text)
    return max(allowed, key=int)


def _unavailable(where: str, text: str) -> BuildFailed:
    return BuildFailed(
        f"{where} asks for Node.js {printable(text[:80])}: there are the versions"
        f" {', '.join(NODE_VERSIONS)}; write for example {DEFAULT}"
    )


def _majors(text: str) -> list[str]:
    intervals = [interval for part in text.split("||") if (interval := _interval(part.strip())) is not None]
    return [
        major
        for major in NODE_VERSIONS
        if any(low < (int(major) + 1, 0, 0) and high > (int(major), 0, 0) for low, high in intervals)
    ]


def _interval(text: str) -> _Interval | None:
    """The versions that all comparators allow. None if the text cannot be read, or allows none."""
    text = _HYPHEN.sub(r">=\1 <=\2", text)
    low, high = _ALL
    position = 0
    while rest := text[position:].lstrip(" ,"):
        found = _COMPARATOR.match(rest)
        bounds = _bounds(found[1] or "", found[2]) if found else None
        if found is None or bounds is None:
            return None
        low, high = max(low, bounds[0]), min(high, bounds[1])
        position = len(text) - len(rest) + found.end()
    return (low, high) if low < high else None


def _bounds(operator: str, text: str) -> _Interval | None:
    if text in ("*", "x", "X"):
        return _ALL
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    numbers = [int(found[1])]
    for part in found[2].split(".")[1:]:
        if not part.isdigit():
            break
        numbers.append(int(part))
    low, after = _version(numbers), _next(numbers)
    bounds: dict[str, _Interval] = {
        "^": (low, (low[0] + 1, 0, 0)),
        "~": (low, _next(numbers[:2])),
        ">=": (low, _ALL[1]),
        ">": (after, _ALL[1]),
        "<": (_ALL[0], low),
        "<=": (_ALL[0], after),
    }
    return bounds.get(operator, (low, after))


def _version(numbers: list[int]) -> _Version:
    major, minor, patch = (*numbers, 0, 0)[:3]
    return major, minor, patch


def _next(numbers: list[int]) -> _Version:
    """The first version after all that begin with these numbers."""
    return _version([*numbers[:-1], numbers[-1] + 1])
