"""Names of git branches."""

import re

LONGEST = 200

_REFUSED = re.compile(
    r"[ ~^:?*\[\\]"  # git gives these a meaning of their own
    r"|\.\.|@{|//"
    r"|(^|/)\.|(\.|\.lock)(/|$)"  # a part of the path: `.x`, `x.`, `x.lock`
    r"|^[-/]|/$|^@$|^HEAD$"
)
_PLAIN = re.compile(r"[A-Za-z0-9_./-]*")


def is_branch_name(name: str) -> bool:
    """Whether git accepts the name for a branch, and people can read it."""
    return 0 < len(name) <= LONGEST and name.isprintable() and not _REFUSED.search(name)


def is_plain_branch_name(name: str) -> bool:
    """A branch name of ASCII letters, digits and `_ . / -` only.

    Branches that are built from a repository have such names: they are passed to git and shown everywhere.
    """
    return is_branch_name(name) and bool(_PLAIN.fullmatch(name))
