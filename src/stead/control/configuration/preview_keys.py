"""The keys with which the control plane signs tokens for protected previews.

Each setting `preview_protection: team` has a key of its own. The edges know only its public part.
"""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stead.control.configuration.rules import SIGN_IN_KEY, SIGN_IN_PUBLIC_KEY, SIGN_IN_URL, Settings
from stead.control.sealing import Sealer

PATH = "/preview-access"
"""The page where members of a team sign in."""
NONE = dict.fromkeys((SIGN_IN_KEY, SIGN_IN_PUBLIC_KEY, SIGN_IN_URL))


def make_settings(subject: str, sealer: Sealer, base_url: str) -> dict[str, str | None]:
    """A new key: whoever has entered before must sign in again."""
    key = Ed25519PrivateKey.generate()
    sealed = sealer.seal(key.private_bytes_raw(), context=key_context(subject))
    return {
        SIGN_IN_KEY: base64.b64encode(sealed).decode(),
        SIGN_IN_PUBLIC_KEY: key.public_key().public_bytes_raw().hex(),
        SIGN_IN_URL: f"{base_url.rstrip('/')}{PATH}",
    }


def open_key(subject: str, settings: Settings, sealer: Sealer) -> Ed25519PrivateKey:
    sealed = base64.b64decode(settings["security"][SIGN_IN_KEY])
    return Ed25519PrivateKey.from_private_bytes(sealer.open(sealed, context=key_context(subject)))


def key_context(subject: str) -> bytes:
    return f"preview sign-in of {subject}".encode()
