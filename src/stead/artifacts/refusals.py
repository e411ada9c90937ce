"""Why an archive, a tree or an artifact is refused."""

from typing import Literal

ArchiveCode = Literal["archive.unsafe", "archive.too_large", "archive.broken"]
TreeCode = Literal["tree.unsafe", "tree.too_large", "tree.changed"]
MAX_PRINTABLE = 200


def printable(name: str | bytes) -> str:
    """A name for logs and messages: on one line, of limited length, without terminal control characters."""
    if isinstance(name, bytes):
        name = name.decode("utf-8", "backslashreplace")
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in name
    )
    return text if len(text) <= MAX_PRINTABLE else text[: MAX_PRINTABLE - 1] + "…"


class ArchiveRefused(Exception):
    """An archive that cannot be unpacked. `name` is the entry at fault, in printable form; empty if it is not
    about one entry."""

    def __init__(self, code: ArchiveCode, reason: str, name: str | bytes = "") -> None:
        self.code: ArchiveCode = code
        self.reason = reason
        self.name = printable(name)
        super().__init__(f"{self.name}: {reason}" if name else reason)


class TreeRefused(Exception):
    """A tree that cannot be packed. `name` is the path at fault, in printable form."""

    def __init__(self, code: TreeCode, reason: str, name: str | bytes) -> None:
        self.code: TreeCode = code
        self.reason = reason
        self.name = printable(name)
        super().__init__(f"{self.name}: {reason}" if name else reason)


class ArtifactUntrusted(Exception):
    """The bytes differ from those that a known key has signed."""

    code = "artifact.signature_invalid"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
