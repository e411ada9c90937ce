"""The private keys of certificates on their way to the edges: sealed for one region and one host.

The control plane holds the master key and can seal for every region; a node holds its own region's key and
can open what was sealed for it.
"""

import base64
import binascii
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SIZE = 32
_NONCE = 12


class KeyUnusable(ValueError):
    """Not base64 of 32 bytes."""


class SealBroken(Exception):
    """Sealed for another region or another host, or changed since."""


def key_from_text(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise KeyUnusable("a key of the edge is base64 of 32 bytes") from None
    if len(key) != SIZE:
        raise KeyUnusable("a key of the edge is base64 of 32 bytes")
    return key


def key_to_text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def region_key(master: bytes, region: str) -> bytes:
    return HKDF(SHA256(), SIZE, salt=None, info=b"stead edge of " + region.encode()).derive(master)


def seal(key: bytes, host: str, pem: str) -> str:
    nonce = os.urandom(_NONCE)
    sealed = ChaCha20Poly1305(key).encrypt(nonce, pem.encode(), _bound_to(host))
    return base64.b64encode(nonce + sealed).decode()


def unseal(key: bytes, host: str, sealed: str) -> str:
    try:
        raw = base64.b64decode(sealed, validate=True)
        return ChaCha20Poly1305(key).decrypt(raw[:_NONCE], raw[_NONCE:], _bound_to(host)).decode()
    except (InvalidTag, ValueError):
        raise SealBroken from None


def _bound_to(host: str) -> bytes:
    return b"stead certificate of " + host.encode()
