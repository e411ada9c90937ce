"""Compares the branches of a repository with those of the last poll. No I/O."""

from collections.abc import Iterator
from typing import NamedTuple

from stead.control.git.rules import Connection, Push

MAX_COMPARISONS = 100_000
"""How many comparisons of a changed branch with a rule of the site one poll makes."""
MAX_PUSHES = 50
"""How many changes a poll acts on. The rest are found again by the next poll."""


class Changes(NamedTuple):
    """`heads` are the branches to remember. Changes that have to wait for the next poll are not in it."""

    pushes: list[Push]
    heads: dict[str, str]


def find_changes(connection: Connection, branches: dict[str, str], with_environment: set[str]) -> Changes:
    """The changes since the last poll that have an effect: the branch is routed, or has an environment."""
    pushes: list[Push] = []
    heads = dict(branches)
    most = _max_branches(connection)
    for compared, push in enumerate(_list_candidates(connection, branches)):
        if compared >= most or len(pushes) >= MAX_PUSHES:
            _keep_for_next_poll(heads, push, connection.branches or {})
        elif push.branch in with_environment or connection.choose_target(push.branch) != "ignore":
            pushes.append(push)
    return Changes(pushes, heads)


def _list_candidates(connection: Connection, branches: dict[str, str]) -> Iterator[Push]:
    """The branch of the site comes first."""
    known = connection.branches
    if known is None:
        # At the first poll, existing branches are not pushes, except the branch that the site awaits.
        yield from _list_awaited(connection, branches)
        return
    for name in sorted(branches, key=lambda name: name != connection.git_branch):
        if known.get(name) != branches[name]:
            yield Push(name, branches[name], "poll")
    for name in known:
        if name not in branches:
            yield Push(name, None, "poll")


def _list_awaited(connection: Connection, branches: dict[str, str]) -> Iterator[Push]:
    if connection.status != "awaiting_push":
        return
    candidates = sorted(branches, key=lambda name: name != connection.git_branch)
    for name in candidates[: _max_branches(connection)]:
        if connection.choose_target(name) == "live":
            yield Push(name, branches[name], "poll")


def _max_branches(connection: Connection) -> int:
    return MAX_COMPARISONS // (1 + len(connection.rules))


def _keep_for_next_poll(heads: dict[str, str], push: Push, known: dict[str, str]) -> None:
    if push.branch in known:
        heads[push.branch] = known[push.branch]
    else:
        heads.pop(push.branch, None)
