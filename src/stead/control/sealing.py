"""Encrypts secrets at rest with the sealing keys of the installation.

A sealed value begins with a version and the id of its key, so that several keys can be in use at once. Values
of earlier versions of Stead begin with their nonce.
"""

import base64
import os
from collections.abc import Iterator
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_VERSION = b"\x01"
_KEY_ID = 4
_NONCE = 12


class SealBroken(Exception):
    """The value was sealed with another key or for another context, or it was changed."""


class Sealer:
    """Seals values with authenticated encryption. A value opens only with the context it was sealed for.

    The first key seals; the others only open what was sealed with them before.
    """

    def __init__(self, key: bytes, *older: bytes) -> None:
        if any(len(each) != 32 for each in (key, *older)):
            raise ValueError("a sealing key must have 32 bytes")
        self._key, self._keys = key, {_id_of(each): each for each in (key, *older)}

    @classmethod
    def from_text(cls, text: str) -> "Sealer":
        """The keys in base64, separated by commas, the current one first."""
        return cls(*(base64.b64decode(each) for each in text.split(",")))

    def seal(self, plain: bytes, *, context: bytes) -> bytes:
        head, nonce = _VERSION + _id_of(self._key), os.urandom(_NONCE)
        return head + nonce + _cipher(self._key, context).encrypt(nonce, plain, head + context)

    def open(self, sealed: bytes, *, context: bytes) -> bytes:
        for key, head, body in self._readings(sealed):
            try:
                return _cipher(key, context).decrypt(body[:_NONCE], body[_NONCE:], head + context)
            except (InvalidTag, ValueError):
                continue
        raise SealBroken

    @property
    def head(self) -> bytes:
        """What every value begins with that was sealed with the current key."""
        return _VERSION + _id_of(self._key)

    def is_current(self, sealed: bytes) -> bool:
        """Whether the value was sealed with the current key."""
        return sealed.startswith(self.head)

    def reseal(self, sealed: bytes, *, context: bytes) -> bytes:
        """Seal a value again, with the current key."""
        return self.seal(self.open(sealed, context=context), context=context)

    def _readings(self, sealed: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The keys that may open the value, each with the head and the rest of the value."""
        size = len(_VERSION) + _KEY_ID
        key = self._keys.get(sealed[len(_VERSION) : size]) if sealed.startswith(_VERSION) else None
        if key is not None:
            yield key, sealed[:size], sealed[size:]
        # Without a head: a value of an earlier version, whose nonce may begin like one.
        for each in self._keys.values():
            yield each, b"", sealed


def _id_of(key: bytes) -> bytes:
    return sha256(b"stead sealing key" + key).digest()[:_KEY_ID]


def _cipher(key: bytes, context: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=context).derive(key))
