"""Branch routes: what becomes of a push, decided by the name of its branch. No I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.http.principal import Mode
from stead.control.http.visibility import Owned
from stead.control.outbox.events import About
from stead.control.sites.rules import SiteStatus
from stead.shared.errors import FieldInvalid
from stead.shared.runtimes import Runtime

Target = Literal["live", "staging", "preview", "ignore"]
MOST_RULES = 100

_PATTERN = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_./*-]{0,199}")
_TOKENS = re.compile(r"\*\*|.")


class BranchRule(Struct, forbid_unknown_fields=True, frozen=True):
    pattern: Annotated[
        str,
        Meta(
            description="The name of a branch, or a glob: `*` is anything but `/`, `**` anything at all.",
            min_length=1,
            max_length=200,
            examples=["feature/*"],
        ),
    ]
    target: Annotated[
        Target,
        Meta(
            description="`live` and `staging` name the environment that is built; `preview` is one of the"
            " branch's own.",
            examples=["preview"],
        ),
    ]


class Glob:
    """Matches in one pass over the name, whatever the pattern: each bit is a place in the pattern."""

    def __init__(self, pattern: str) -> None:
        self._literal: dict[str, int] = {}
        self._star = self._deep = 0
        tokens = _TOKENS.findall(pattern)
        for place, token in enumerate(tokens):
            if token == "**":  # noqa: S105
                self._deep |= 1 << place
            elif token == "*":  # noqa: S105
                self._star |= 1 << place
            else:
                self._literal[token] = self._literal.get(token, 0) | 1 << place
        self._end = 1 << len(tokens)

    def matches(self, name: str) -> bool:
        at = self._skipping(1)
        for letter in name:
            stays = at & (self._deep if letter == "/" else self._deep | self._star)
            at = self._skipping(stays | (at & self._literal.get(letter, 0)) << 1)
        return bool(at & self._end)

    def _skipping(self, at: int) -> int:
        """A star may stand for nothing; two never follow one another."""
        return at | (at & (self._star | self._deep)) << 1


def check(rules: Sequence[BranchRule]) -> None:
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        param, pattern = f"rules.{place}.pattern", rule.pattern
        if not _PATTERN.fullmatch(pattern) or pattern.endswith(("/", ".lock")):
            raise FieldInvalid(param=param, reason="It is neither the name of a branch nor a glob.")
        if any(wrong in pattern for wrong in ("***", "//", "..", "/.")):
            raise FieldInvalid(param=param, reason="No branch has `***`, `//`, `..` or `/.` in its name.")
        if pattern in seen:
            raise FieldInvalid(param=param, reason=f"`{pattern}` has two rules.")
        seen.add(pattern)


def route(rules: Sequence[BranchRule], git_branch: str | None, branch: str) -> Target:
    """The first rule that matches. Without one the site's own branch is live, and any other ignored."""
    for rule in rules:
        if Glob(rule.pattern).matches(branch):
            return rule.target
    return "live" if branch == git_branch else "ignore"


@dataclass(frozen=True, slots=True)
class Connection(Owned):
    """A site and its repository, as whoever hears of a push needs to know them."""

    site_id: str
    account_id: str | None
    team_id: str | None
    mode: Mode
    domain: str
    runtime: Runtime
    status: SiteStatus
    git_repo: str | None
    git_branch: str | None
    rules: list[BranchRule]
    hook_heard_at: datetime | None
    refs: dict[str, str] | None
    """Where each branch stood when it was last heard of; None before anybody has looked."""

    def about(self, *, env: str | None = None, job: str | None = None) -> About:
        return About(
            account_id=self.account_id, team_id=self.team_id, site_id=self.site_id, env_id=env, job_id=job
        )

    def target(self, branch: str) -> Target:
        return route(self.rules, self.git_branch, branch)


@dataclass(frozen=True, slots=True)
class Due:
    """A repository that is to be asked for its branches."""

    site_id: str
    url: str
    hook_heard_at: datetime | None
    failures: int
