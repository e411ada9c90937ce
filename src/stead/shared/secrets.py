"""Bearer secrets. Scanners recognize them, typos are found without a query, and only a hash is stored."""

import hashlib
import secrets
import string
import zlib
from typing import Literal, NamedTuple

from stead.shared.ids import new_id

Family = Literal["stead_live", "stead_test", "stead_session"]
FAMILIES: tuple[Family, ...] = ("stead_live", "stead_test", "stead_session")

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHARACTERS = frozenset(_ALPHABET)
_BODY_LENGTH = 32
_CHECKSUM_LENGTH = 6


class Secret(NamedTuple):
    """A new secret. It is shown to its owner once; only its hash and last four characters are stored."""

    text: str
    family: Family

    @property
    def hash(self) -> bytes:
        return digest(self.text)

    @property
    def last4(self) -> str:
        return self.text[-4:]


def mint(family: Family) -> Secret:
    """The first two characters are the cell, for routers. The other thirty are random (178 bits)."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_BODY_LENGTH - 2))
    body = f"{family}_{_base62(new_id.cell, 2)}{random}"
    return Secret(body + _checksum(body), family)


def new_password(prefix: str) -> str:
    """A password that is generated, and shown once; it cannot be guessed (190 bits)."""
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(_BODY_LENGTH))}"


def family_of(text: str) -> Family | None:
    """Returns the family of a well-formed secret, or None if this service cannot have issued it."""
    family, _, rest = text.rpartition("_")
    if (
        len(rest) != _BODY_LENGTH + _CHECKSUM_LENGTH
        or family not in FAMILIES
        or not _CHARACTERS.issuperset(rest)
    ):
        return None
    body, checksum = text[:-_CHECKSUM_LENGTH], text[-_CHECKSUM_LENGTH:]
    return family if _checksum(body) == checksum else None


def digest(text: str) -> bytes:
    """A fast hash is sufficient, because the secret is too random to be guessed."""
    return hashlib.sha256(text.encode()).digest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, width: int) -> str:
    letters = []
    for _ in range(width):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(reversed(letters))
