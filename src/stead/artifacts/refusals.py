"""Why something is not taken: an archive, a tree, or an artifact that is not what somebody signed."""

from typing import Literal

ArchiveCode = Literal["archive.unsafe", "archive.too_large", "archive.broken"]
TreeCode = Literal["tree.unsafe", "tree.too_large", "tree.changed"]
MAX_PRINTABLE = 200


def printable(name: str | bytes) -> str:
    """A name as it can be logged and shown: on one line, bounded, nothing in it that steers a terminal."""
    if isinstance(name, bytes):
        name = name.decode("utf-8", "backslashreplace")
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in name
    )
    return text if len(text) <= MAX_PRINTABLE else text[: MAX_PRINTABLE - 1] + "…"


class ArchiveRefused(Exception):
    """An archive that is not unpacked. `name` is the entry at fault, printable; empty if it is no entry."""

    def __init__(self, code: ArchiveCode, reason: str, name: str | bytes = "") -> None:
        self.code: ArchiveCode = code
        self.reason = reason
        self.name = printable(name)
        super().__init__(f"{self.name}: {reason}" if name else reason)


class TreeRefused(Exception):
    """A tree that is not packed. `name` is the path at fault within it, printable."""

    def __init__(self, code: TreeCode, reason: str, name: str | bytes) -> None:
        self.code: TreeCode = code
        self.reason = reason
        self.name = printable(name)
        super().__init__(f"{self.name}: {reason}" if name else reason)


class ArtifactUntrusted(Exception):
    """Bytes that are not those which a key we know has signed."""

    code = "artifact.signature_invalid"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
