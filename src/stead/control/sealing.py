"""Encrypts secrets at rest with the sealing key of the installation."""

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE = 12


class SealBroken(Exception):
    """The value was sealed with another key or for another context, or it was changed."""


class Sealer:
    """Seals values with authenticated encryption. A value opens only with the context it was sealed for."""

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("the sealing key must have 32 bytes")
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
