"""What the scanner says about a file. There are exactly three results, and an error is never an infection."""

import re
from typing import Literal

from msgspec import Struct

Result = Literal["clean", "infected", "error"]

_REPLY = re.compile(rb"(?P<id>[0-9]{1,9}): [^\n]{1,200}?: (?:(?P<clean>OK)|(?P<rest>[^\n\0]{1,500}))")
_FOUND, _FAILED = b" FOUND", b" ERROR"
_SIGNATURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/()+-]{0,199}")
_LIMIT = "Heuristics.Limits.Exceeded"
"""clamd reports so that it has not read all of a file. That is no infection."""
CHANGED = "the file was changed while it was read"
OUT_OF_TIME = "the scan has no time left"
CLAMD_REFUSED = "clamd could not read the file"


class Request(Struct, frozen=True, array_like=True):
    """A file to scan. Its descriptor is sent beside the message, in the same order."""

    id: int
    path: bytes
    """Below the site, for rules that depend on the place of a file."""
    known: bytes = b""
    """The SHA-256 of the content that was clean at the last scan. A file that still has it is not scanned
    again."""


class Verdict(Struct, frozen=True, array_like=True):
    id: int
    result: Result
    sha256: bytes = b""
    signature: str = ""
    engine: str = ""
    detail: str = ""
    """Why there is no result; or the place of the match, for people."""
    scanned: bool = True
    """False if the content was known."""


class Hello(Struct, frozen=True):
    """The first message of the child."""

    yara: str
    """The digest of the rules."""
    clamd: str
    """What clamd says about its version and signatures."""
    error: str = ""


def read_clamd_reply(reply: bytes) -> tuple[int, Result, str]:
    """The number of the request, the result, and the signature or the reason. Everything that is not exactly
    as documented is an error. Raises ValueError if the number cannot be read."""
    found = _REPLY.fullmatch(reply)
    if found is None:
        raise ValueError("clamd has sent something else than a reply")
    number = int(found["id"])
    if found["clean"]:
        return number, "clean", ""
    rest = found["rest"]
    if rest.endswith(_FOUND):
        signature = rest.removesuffix(_FOUND).decode(errors="replace")
        if signature.startswith(_LIMIT):
            return number, "error", "the file exceeds the limits of the scanner"
        if _SIGNATURE.fullmatch(signature):
            return number, "infected", signature.removesuffix(".UNOFFICIAL")
        return number, "error", "clamd has named a signature that cannot be read"
    if rest.endswith(_FAILED):
        return number, "error", CLAMD_REFUSED
    return number, "error", "clamd has sent something else than a result"
