"""Whether anything that a build reads has changed since another build: a digest of the parts of the commit
that matter."""

import hashlib
from collections.abc import Collection

SITE_FILE = "stead.json"
"""Counts for every project, also if there is none."""
MAX_TREE_BYTES = 4 << 20
"""A longer list of directories is not looked at, and the build is not skipped."""


def read_tree(content: bytes | None) -> dict[str, str]:
    """What `git ls-tree -z` lists: the type and the hash of each entry, by its path."""
    found = {}
    for line in (content or b"").split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            found[path.decode(errors="replace")] = head.decode(errors="replace")
    return found


def digest(tree: dict[str, str], paths: Collection[str] | None, *more: str) -> str:
    """The digest of these directories and files of the top directory; None means everything.

    Empty if the commit is not known, or if a path is neither a directory that the commit has nor a file at
    its top: whether it has changed cannot be said then.
    """
    if not tree or any(path not in tree and path != SITE_FILE for path in paths or ()):
        return ""
    top = [path for path in tree if "/" not in path]
    lines = [f"{path}\0{tree.get(path, '')}" for path in sorted(top if paths is None else paths)]
    return hashlib.sha256("\n".join((*more, *lines)).encode()).hexdigest()
