"""The entries of an archive, of whatever format: their names are already parsed and checked."""

from collections.abc import Iterator
from dataclasses import dataclass

from stead.artifacts.names import EntryKind, NameRefused, check_part
from stead.artifacts.refusals import ArchiveRefused

MAX_TARGET_BYTES = 1024


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False
    target: str = ""
    """The target of a link. It is not checked here, because that needs the whole archive."""


@dataclass(frozen=True, slots=True)
class EntryContent:
    """An entry and its bytes, which must be read before the next entry."""

    entry: ArchiveEntry
    chunks: Iterator[bytes]


def decode_name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ArchiveRefused("archive.unsafe", "the name is not UTF-8", raw) from None


def parse_path(raw: bytes) -> str:
    """A relative path with checked parts; empty for the root. tar writes `./` in front of some names."""
    text = decode_name(raw)
    if text.startswith("/"):
        raise ArchiveRefused("archive.unsafe", "the name is absolute", raw)
    if text in (".", "./"):
        return ""
    path = text.removeprefix("./").removesuffix("/")
    try:
        for part in path.split("/"):
            check_part(part)
    except NameRefused as refused:
        raise ArchiveRefused(
            "archive.too_large" if refused.large else "archive.unsafe", str(refused), raw
        ) from None
    return path


def parse_target(raw: bytes, path: str) -> str:
    if not raw or len(raw) > MAX_TARGET_BYTES or b"\0" in raw:
        raise ArchiveRefused("archive.unsafe", "the link leads nowhere", path)
    return decode_name(raw)
