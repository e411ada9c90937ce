"""Tokens for the repository gateway: what one job may do in the repository of one site, and until when.

The control plane signs a token and gives it to a node as a part of a URL. The gateway needs no database to
verify it.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from typing import Literal

import msgspec

from stead.shared.ids import has_shape

Access = Literal["read", "append"]

SIZE = 32
MAX_TEXT = 1024
_CONTEXT = b"stead repository token\n"


class InvalidRepositoryKey(ValueError):
    """The text is not base64 of 32 bytes."""


class TokenRefused(Exception):
    """The token is malformed, was signed with another key, or has expired."""


class RepositoryToken(msgspec.Struct, frozen=True, array_like=True):
    site: str
    job: str
    access: Access
    max_added_bytes: int
    """The most bytes that the job may add, with all of its tokens."""
    issued_at: int
    """In seconds since 1970, as `expires_at`."""
    expires_at: int
    node: str = ""
    """The node that uses the token. Jobs of one node share limits."""
    as_of: int = 0
    """If not 0, only files that were stored before this moment exist for the token. So what a hostile node
    adds later cannot disturb the restore of an older snapshot."""


def keys_from_text(text: str) -> tuple[bytes, ...]:
    """Keys in base64 that are separated by commas. The first one signs, all of them verify."""
    return tuple(_key_from_text(each.strip()) for each in text.split(","))


def _key_from_text(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != SIZE:
        raise InvalidRepositoryKey("a repository key must be base64 of 32 bytes")
    return key


def sign(key: bytes, token: RepositoryToken) -> str:
    """The token as text that needs no escaping in a URL."""
    content = _encode(msgspec.json.encode(token))
    return f"{content}.{_encode(_signature(key, content))}"


def verify(keys: Sequence[bytes], text: str, *, now: float) -> RepositoryToken:
    """Raises TokenRefused."""
    content, _, signature = text.partition(".")
    given = _decode(signature) if len(text) <= MAX_TEXT else b""
    if not any(hmac.compare_digest(_signature(key, content), given) for key in keys):
        raise TokenRefused("the token is not valid")
    try:
        token = msgspec.json.decode(_decode(content), type=RepositoryToken)
    except msgspec.DecodeError:
        raise TokenRefused("the token is not valid") from None
    if not has_shape("site", token.site):
        raise TokenRefused("the token names no site")
    if now >= token.expires_at:
        raise TokenRefused("the token has expired")
    return token


def repository_url(gateway: str, text: str) -> str:
    """What restic takes after `rest:`."""
    return f"{gateway.rstrip('/')}/r/{text}/"


def _signature(key: bytes, content: str) -> bytes:
    return hmac.digest(key, _CONTEXT + content.encode(), "sha256")


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    """Empty if it is not valid."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
