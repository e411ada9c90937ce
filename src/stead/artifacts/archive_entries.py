"""What a reader of archives finds, whatever their form: names already taken apart and checked."""

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
    """Where a link says it leads: not checked, for that needs all of the archive."""


@dataclass(frozen=True, slots=True)
class EntryContent:
    """A member and its bytes, which are read before the next member is asked for."""

    member: ArchiveEntry
    pieces: Iterator[bytes]


def decode_name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ArchiveRefused("archive.unsafe", "the name is not UTF-8", raw) from None


def parse_path(raw: bytes) -> str:
    """A relative path of harmless parts; empty for the root itself. A leading `./` is how tar says `here`."""
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
