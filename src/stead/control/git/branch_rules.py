"""Branch rules: what a push to a branch builds, decided by the branch's name. No I/O."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.shared.errors import FieldInvalid

Target = Literal["live", "staging", "preview", "ignore"]
MAX_RULES = 100

_PATTERN = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_./*-]{0,199}")
_TOKENS = re.compile(r"\*\*|.")


class BranchRule(Struct, forbid_unknown_fields=True, frozen=True):
    pattern: Annotated[
        str,
        Meta(
            description="The name of a branch, or a glob: `*` matches anything except `/`, `**` matches"
            " anything.",
            min_length=1,
            max_length=200,
            examples=["feature/*"],
        ),
    ]
    target: Annotated[
        Target,
        Meta(
            description="The environment that is built: `live` and `staging` are those of the site; `preview`"
            " is created for the branch; `ignore` builds nothing.",
            examples=["preview"],
        ),
    ]


class BranchPattern:
    """A glob that matches in one pass over the name, whatever the pattern.

    It runs as an automaton whose set of states is an integer: each bit is a position in the pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._literal: dict[str, int] = {}
        self._star = self._double_star = 0
        tokens = _TOKENS.findall(pattern)
        for position, token in enumerate(tokens):
            if token == "**":  # noqa: S105
                self._double_star |= 1 << position
            elif token == "*":  # noqa: S105
                self._star |= 1 << position
            else:
                self._literal[token] = self._literal.get(token, 0) | 1 << position
        self._end = 1 << len(tokens)

    def matches(self, name: str) -> bool:
        states = self._skip_stars(1)
        for character in name:
            repeatable = self._double_star if character == "/" else self._double_star | self._star
            advanced = (states & self._literal.get(character, 0)) << 1
            states = self._skip_stars(states & repeatable | advanced)
        return bool(states & self._end)

    def _skip_stars(self, states: int) -> int:
        """A star may match nothing. One step is enough, since two stars never follow one another."""
        return states | (states & (self._star | self._double_star)) << 1


_compile = lru_cache(maxsize=10_000)(BranchPattern)
"""A poll compares thousands of branches with the same patterns."""


def check_rules(rules: Sequence[BranchRule]) -> None:
    patterns: set[str] = set()
    for position, rule in enumerate(rules):
        param, pattern = f"rules.{position}.pattern", rule.pattern
        if not _PATTERN.fullmatch(pattern) or pattern.endswith(("/", ".lock")):
            raise FieldInvalid(param=param, reason="It is neither the name of a branch nor a glob.")
        if any(wrong in pattern for wrong in ("***", "//", "..", "/.")):
            raise FieldInvalid(
                param=param, reason="The name of a branch cannot contain `***`, `//`, `..` or `/.`."
            )
        if pattern in patterns:
            raise FieldInvalid(param=param, reason=f"`{pattern}` has two rules.")
        patterns.add(pattern)


def choose_target(rules: Sequence[BranchRule], git_branch: str | None, branch: str) -> Target:
    """The first matching rule decides. Without one, the site's own branch is live and others are ignored."""
    for rule in rules:
        if _compile(rule.pattern).matches(branch):
            return rule.target
    return "live" if branch == git_branch else "ignore"
