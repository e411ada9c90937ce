"""What a scan reads, and what it has found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from stead.node.snapshots.tree_scan import Key


@dataclass(frozen=True)
class Root:
    """A directory to scan, and where it is in the site."""

    directory: Path
    prefix: str
    movable: bool = True
    """Whether an infected file may be moved away. The code of a release is never changed."""
    expected: Mapping[Key, bytes] | None = None
    """The hashes of all files, where nobody may change any: a difference is a finding."""


class FileFinding(msgspec.Struct, frozen=True):
    path: str
    sha256: str
    signature: str
    engine: str
    detail: str = ""
    size: int = 0
    movable: bool = True


@dataclass
class FileReport:
    findings: list[FileFinding] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Files without a result, and why."""
    files: int = 0
    scanned: int = 0
    unchanged: int = 0
    bytes: int = 0
    omitted: int = 0
    """Findings beyond the limit."""
    without_result: int = 0
    """All that have no result; `failed` has the first ones."""
    unfinished: int = 0
    """Of these, files for which there was no time left."""
