"""Lines of ignore files, as git reads them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_NOTHING = "(?!)"
_ANY_NAME = re.compile("[^/]+")


class Rule(NamedTuple):
    names: tuple[re.Pattern[str] | None, ...]
    """One for each name of the path; None is any number of folders."""
    is_anchored: bool
    negated: bool
    only_folders: bool

    def matches(self, path: Sequence[str], *, is_folder: bool) -> bool:
        """Whether it is about the path, whose names are relative to the folder of the ignore file."""
        return (is_folder or not self.only_folders) and _matches(self.names, path)


def parse_rule(line: str) -> Rule | None:
    text = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text.removeprefix("\\") if text[:2] in ("\\#", "\\!") else text
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    is_anchored = "/" in text
    parts = text.removeprefix("/").split("/") if is_anchored else ["**", text.replace("**", "*")]
    names: list[re.Pattern[str] | None] = []
    for part in parts:
        if part != "**":
            names.append(re.compile(_translate(part), re.DOTALL))
        elif not names or names[-1] is not None:
            names.append(None)
    if names[-1] is None:
        # What is in the folder, and not the folder itself.
        names.append(_ANY_NAME)
    return Rule(tuple(names), is_anchored, negated, only_folders)


def _matches(names: Sequence[re.Pattern[str] | None], path: Sequence[str]) -> bool:
    """The first place that fits after `**` is as good as any later one, so nothing is tried twice."""
    at = seen = 0
    last, taken = -1, 0
    while seen < len(path):
        wanted = names[at] if at < len(names) else _NEVER
        if wanted is None:
            last, taken, at = at, seen, at + 1
        elif wanted.fullmatch(path[seen]):
            at, seen = at + 1, seen + 1
        elif last >= 0:
            taken += 1
            at, seen = last + 1, taken
        else:
            return False
    return at == len(names)


def _translate(glob: str) -> str:
    """The pattern of one name. Every `*` but the last takes as little as it can, for good: trying more would
    never help, and take long."""
    pieces = [""]
    at = 0
    while at < len(glob):
        if glob[at] == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
            at += 1
        elif glob[at] == "?":
            pieces[-1] += "."
            at += 1
        elif glob[at] == "[":
            found, at = _bracket(glob, at + 1)
            pieces[-1] += found
        elif glob[at] == "\\":
            pieces[-1] += re.escape(glob[at + 1]) if at + 1 < len(glob) else _NOTHING
            at += 2
        else:
            pieces[-1] += re.escape(glob[at])
            at += 1
    first, *rest = pieces
    if not rest:
        return first
    return first + "".join(f"(?>.*?{piece})" for piece in rest[:-1]) + f".*{rest[-1]}"


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The class that begins at a place, and the place behind it. One without an end matches nothing."""
    negated = glob[at : at + 1] in ("!", "^") and at < len(glob)
    at += negated
    found, begin = "", at
    while at < len(glob) and (glob[at] != "]" or at == begin):
        if glob.startswith("[:", at) and (end := glob.find(":]", at + 2)) >= 0:
            if glob[at + 2 : end] not in _CLASSES:
                return _NOTHING, len(glob)
            found, at = found + _CLASSES[glob[at + 2 : end]], end + 2
            continue
        first, at = _character(glob, at)
        last = first
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            last, at = _character(glob, at + 1)
        if first <= last:
            found += f"{re.escape(first)}-{re.escape(last)}"
    if at >= len(glob):
        return _NOTHING, at
    if not found:
        return ("." if negated else _NOTHING), at + 1
    return f"[{'^' if negated else ''}{found}]", at + 1


def _character(glob: str, at: int) -> tuple[str, int]:
    at += glob[at] == "\\" and at + 1 < len(glob)
    return glob[at], at + 1


_NEVER = re.compile(_NOTHING)
