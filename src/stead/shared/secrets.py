"""Bearer secrets: recognisable by scanners, checked for typos without a query, stored only as a hash."""

import hashlib
import secrets
import string
import zlib
from typing import Literal, NamedTuple

from stead.shared.ids import new_id

Family = Literal["stead_live", "stead_test", "stead_session"]
FAMILIES: tuple[Family, ...] = ("stead_live", "stead_test", "stead_session")

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_LETTERS = frozenset(_ALPHABET)
_CHANCE = 32
_CHECKSUM = 6


class Secret(NamedTuple):
    """A secret on its way to its owner: shown once, then only its hash and last four characters remain."""

    text: str
    family: Family

    @property
    def hash(self) -> bytes:
        return digest(self.text)

    @property
    def last4(self) -> str:
        return self.text[-4:]


def mint(family: Family) -> Secret:
    """Two characters name the cell that a router sends the bearer to; thirty are chance (178 bits)."""
    chance = "".join(secrets.choice(_ALPHABET) for _ in range(_CHANCE - 2))
    body = f"{family}_{_base62(new_id.cell, 2)}{chance}"
    return Secret(body + _checksum(body), family)


def family_of(text: str) -> Family | None:
    """The family of a well-formed secret; None for anything this service cannot have issued."""
    family, _, rest = text.rpartition("_")
    if len(rest) != _CHANCE + _CHECKSUM or family not in FAMILIES or not _LETTERS.issuperset(rest):
        return None
    body, checksum = text[:-_CHECKSUM], text[-_CHECKSUM:]
    return family if _checksum(body) == checksum else None


def digest(text: str) -> bytes:
    """The secret is random enough that a fast hash cannot be reversed by guessing."""
    return hashlib.sha256(text.encode()).digest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM)


def _base62(number: int, width: int) -> str:
    letters = []
    for _ in range(width):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(reversed(letters))
