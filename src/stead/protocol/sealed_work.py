"""Seals the secrets of work to the public key of the node that does it.

A command is stored in a NATS stream and in the journal of the node. Both hold its secrets only sealed; the
node opens them in memory, when it begins the work. The scheme is HPKE (RFC 9180) with X25519,
HKDF-SHA256 and ChaCha20-Poly1305. A sealed value is bound to its node, job and step.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from stead.protocol.work.kinds import Work

KEY_BYTES = 32
VERSION = b"\x01"
"""The first byte of a sealed value."""

_work = msgspec.msgpack.Decoder(Work)
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)

_Path = tuple[str | int, ...]
_Secret = tuple[_Path, Any]


class InvalidNodeKey(ValueError):
    """The text is not base64 of 32 bytes."""


class NodeKeyMissing(Exception):
    """The work has secrets, and there is no key to seal them to."""


class WorkUnreadable(Exception):
    """The secrets were sealed to another key or for another command, or they were changed."""


class SecretsUnknown(Exception):
    """The secrets belong to fields that this version does not know."""


def key_from_text(text: str) -> bytes:
    """Read a private or public key of a node."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidNodeKey("the key of a node must be base64 of 32 bytes")
    return key


def public_key_of(private: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def seal_work(work: Work, public: bytes | None, *, node: str, job: str, step: str) -> tuple[Work, bytes]:
    """Return the work without its secrets, and the sealed secrets; empty if it has none.

    Raises NodeKeyMissing.
    """
    found = list(_secrets(work, ()))
    if not found:
        return work, b""
    if public is None:
        raise NodeKeyMissing
    plain = _to_builtins(work)
    for path, _ in found:
        _set(plain, path, None)
    sealed = _SUITE.encrypt(
        msgspec.msgpack.encode(found), X25519PublicKey.from_public_bytes(public), _context(node, job, step)
    )
    return _from_builtins(plain), VERSION + sealed


def open_work(work: Work, sealed: bytes, private: bytes, *, node: str, job: str, step: str) -> Work:
    """Return the work with its secrets. Raises WorkUnreadable or SecretsUnknown."""
    if not sealed:
        return work
    if not sealed.startswith(VERSION):
        raise WorkUnreadable
    key = X25519PrivateKey.from_private_bytes(private)
    try:
        opened = _SUITE.decrypt(sealed.removeprefix(VERSION), key, _context(node, job, step))
    except (InvalidTag, ValueError):
        raise WorkUnreadable from None
    plain = _to_builtins(work)
    try:
        for path, value in msgspec.msgpack.decode(opened, type=list[_Secret]):
            _set(plain, path, value)
        return _from_builtins(plain)
    except (msgspec.MsgspecError, LookupError, TypeError):
        raise SecretsUnknown from None


def _secrets(value: object, path: _Path) -> Iterator[_Secret]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _secrets(item, (*path, index))
    if not isinstance(value, msgspec.Struct):
        return
    secret: tuple[str, ...] = getattr(type(value), "secret_fields", ())
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if name not in secret:
            yield from _secrets(field, (*path, name))
        elif field:
            yield (*path, name), field


def _set(plain: Any, path: _Path, value: Any) -> None:
    """Without a value: empty, of the same type."""
    *parents, last = path
    for key in parents:
        plain = plain[key]
    plain[last] = type(plain[last])() if value is None else value


def _to_builtins(work: Work) -> Any:
    # Lists instead of tuples, so that items can be replaced.
    return msgspec.msgpack.decode(msgspec.msgpack.encode(work))


def _from_builtins(plain: Any) -> Work:
    work: Work = _work.decode(msgspec.msgpack.encode(plain))
    return work


def _context(node: str, job: str, step: str) -> bytes:
    return f"stead work of {job}/{step} on {node}".encode()
