"""Public keys for tests."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def new_public_key(comment: str = "") -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return f"{key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()} {comment}".rstrip()
