"""Encrypts the private keys of certificates for the edges of one region and for one host.

The control plane has the master key and can encrypt for every region. A node has only the key of its own
region, and can decrypt only what was encrypted for that region. Edges of a region sign what they tell each
other about a visitor with a key that is derived from it.
"""

import base64
import binascii
import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SIZE = 32
_NONCE = 12


class InvalidEdgeKey(ValueError):
    """The text is not base64 of 32 bytes."""


class UnsealFailed(Exception):
    """The value was sealed for another region or another host, or was changed."""


def key_from_text(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise InvalidEdgeKey("an edge key must be base64 of 32 bytes") from None
    if len(key) != SIZE:
        raise InvalidEdgeKey("an edge key must be base64 of 32 bytes")
    return key


def keys_from_text(text: str) -> tuple[bytes, ...]:
    """Keys that are separated by commas. The first one is current; the others are still accepted."""
    return tuple(key_from_text(each.strip()) for each in text.split(","))


def key_to_text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def region_key(master: bytes, region: str) -> bytes:
    return HKDF(SHA256(), SIZE, salt=None, info=b"stead edge of " + region.encode()).derive(master)


def hop_key(key: bytes) -> bytes:
    """The key with which the edges of a region sign for each other, from the key of the region."""
    return HKDF(SHA256(), SIZE, salt=None, info=b"stead hop between edges").derive(key)


def preview_key(node_key: bytes) -> bytes:
    """The key for the cookies of protected previews, from the private key of the node that hosts them. No
    other node has it."""
    return HKDF(SHA256(), SIZE, salt=None, info=b"stead cookies of protected previews").derive(node_key)


def seal(key: bytes, host: str, pem: str) -> str:
    nonce = os.urandom(_NONCE)
    sealed = ChaCha20Poly1305(key).encrypt(nonce, pem.encode(), _bound_to(host))
    return base64.b64encode(nonce + sealed).decode()


def unseal(keys: Sequence[bytes], host: str, sealed: str) -> str:
    """Open a value that was sealed with any of these keys."""
    try:
        raw = base64.b64decode(sealed, validate=True)
    except ValueError:
        raise UnsealFailed from None
    for key in keys:
        try:
            return ChaCha20Poly1305(key).decrypt(raw[:_NONCE], raw[_NONCE:], _bound_to(host)).decode()
        except (InvalidTag, ValueError):
            continue
    raise UnsealFailed


def _bound_to(host: str) -> bytes:
    return b"stead certificate of " + host.encode()
