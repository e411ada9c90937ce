"""Where the files of a repository are in the object store: as restic itself stores them in S3.

So the worker uses restic with the object store directly, and so can an operator without Stead.
"""

import re
from dataclasses import dataclass

PREFIX = "backups"
KINDS = ("data", "index", "snapshots", "keys", "locks")
CONFIG = "config"
_NAME = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class RepositoryFile:
    """One file. All of them except `config` are named after the SHA-256 of their content."""

    kind: str
    name: str = ""

    def key(self, site: str) -> str:
        if self.kind == CONFIG:
            return f"{repository_prefix(site)}{CONFIG}"
        return (
            f"{kind_prefix(site, self.kind)}{self.name[:2] + '/' if self.kind == 'data' else ''}{self.name}"
        )


def repository_prefix(site: str) -> str:
    return f"{PREFIX}/{site}/"


def kind_prefix(site: str, kind: str) -> str:
    return f"{repository_prefix(site)}{kind}/"


def closed_key(site: str) -> str:
    """An object that exists while the worker removes data: nodes add nothing to the repository meanwhile,
    although their tokens may still be valid."""
    return f"{repository_prefix(site)}closed"


def parse_file(path: str) -> RepositoryFile | None:
    """A path below the repository in restic's REST protocol; None if it names no file."""
    if path == CONFIG:
        return RepositoryFile(CONFIG)
    kind, _, name = path.partition("/")
    return RepositoryFile(kind, name) if kind in KINDS and _NAME.fullmatch(name) else None


def parse_list(path: str) -> str | None:
    """The kind of files that a path asks to list; None if it is not a list."""
    kind, slash, rest = path.partition("/")
    return kind if kind in KINDS and slash and not rest else None
