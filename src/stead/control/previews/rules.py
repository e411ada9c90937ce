"""Tokens for protected previews: their format and lifetime. No I/O."""

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LIFETIME = timedelta(minutes=2)
PATH = "/_stead/access"
"""Where an edge accepts a token."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A host of an environment that the caller can see."""

    env_id: str
    site_id: str
    team_id: str | None
    host: str


def is_path(text: str) -> bool:
    """Whether it is a path of the preview itself. Browsers read `//` and `/\\` as the beginning of another
    host."""
    is_printable = all(" " < char < "\x7f" for char in text)
    return text.startswith("/") and text[1:2] not in ("/", "\\") and is_printable


def build_token(key: Ed25519PrivateKey, preview: Preview, now: datetime) -> str:
    number, until = secrets.token_hex(16), int((now + LIFETIME).timestamp())
    text = f"stead access\n{preview.env_id}\n{preview.host}\n{until}\n{number}".encode()
    return f"{_encode(text)}.{_encode(key.sign(text))}"


def build_url(origin: str, token: str, path: str) -> str:
    return f"{origin}{PATH}?token={token}&to={quote(path, safe='')}"


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
