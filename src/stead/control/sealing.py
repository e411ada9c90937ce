"""What must be read back but never stand in clear at rest is sealed with the installation's key."""

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE = 12


class SealBroken(Exception):
    """Sealed with another key, for another purpose, or changed since."""


class Sealer:
    """`context` binds a sealed value to its place: moved elsewhere, it does not open."""

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("the sealing key has 32 bytes")
        self._key = key

    @classmethod
    def from_text(cls, text: str) -> "Sealer":
        return cls(base64.b64decode(text))

    def seal(self, plain: bytes, *, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher(context).encrypt(nonce, plain, context)

    def open(self, sealed: bytes, *, context: bytes) -> bytes:
        try:
            return self._cipher(context).decrypt(sealed[:_NONCE], sealed[_NONCE:], context)
        except (InvalidTag, ValueError):
            raise SealBroken from None

    def _cipher(self, context: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=context).derive(self._key))
