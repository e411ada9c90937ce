"""What a reader of archives finds, whatever their form: names already taken apart and checked."""

from collections.abc import Iterator
from dataclasses import dataclass

from stead.artifacts.names import Kind, NameRefused, check_part
from stead.artifacts.refusals import ArchiveRefused

LONGEST_TARGET = 1024


@dataclass(frozen=True, slots=True)
class Member:
    path: str
    kind: Kind
    size: int = 0
    executable: bool = False
    target: str = ""
    """Where a link says it leads: not checked, for that needs all of the archive."""


@dataclass(frozen=True, slots=True)
class Content:
    """A member and its bytes, which are read before the next member is asked for."""

    member: Member
    pieces: Iterator[bytes]


def decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ArchiveRefused("archive.unsafe", "the name is not UTF-8", raw) from None


def path_of(raw: bytes) -> str:
    """A relative path of harmless parts; empty for the root itself. A leading `./` is how tar says `here`."""
    text = decoded(raw)
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


def target_of(raw: bytes, path: str) -> str:
    if not raw or len(raw) > LONGEST_TARGET or b"\0" in raw:
        raise ArchiveRefused("archive.unsafe", "the link leads nowhere", path)
    return decoded(raw)
