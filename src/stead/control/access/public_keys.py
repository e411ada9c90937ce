"""Reads public keys in the format of OpenSSH. Only keys that are safe to trust are accepted."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurve,
    EllipticCurvePublicKey,
)

MAX_LABEL = 100
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192
"""A longer key makes every sign-in expensive."""
MAX_EXPONENT_BITS = 64
MAX_APPLICATION = 255

_CURVES: dict[str, type[EllipticCurve]] = {
    "nistp256": SECP256R1,
    "nistp384": SECP384R1,
    "nistp521": SECP521R1,
}
_POINT_BYTES = 32
_FIELD = 2**255 - 19
_SMALL_ORDER = frozenset(
    {
        *(0, 1, _FIELD - 1),
        int.from_bytes(
            bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
        ),
        int.from_bytes(
            bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
        ),
    }
)
"""Points for which signatures can be made without a private key."""


class UnusableKey(ValueError):
    """The text is not a public key, or one that is not accepted. The message says why, in a sentence."""


@dataclass(frozen=True)
class PublicKey:
    type: str
    blob: bytes
    """The key in the format of the SSH protocol."""
    comment: str

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` shows it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest()).decode()
        return f"SHA256:{digest.rstrip('=')}"

    @property
    def text(self) -> str:
        return format_key(self.type, self.blob)


def format_key(type_: str, blob: bytes) -> str:
    return f"{type_} {base64.b64encode(blob).decode()}"


def parse_public_key(text: str) -> PublicKey:
    """Read one line of a `.pub` file. Raises UnusableKey."""
    if "PRIVATE KEY" in text:
        raise UnusableKey(
            "This is a private key. Send the public one, and replace this key: it is not secret now."
        )
    line = text.strip(" \t\r\n")
    if not line.isprintable():
        raise UnusableKey("A key is one line of plain text.")
    type_, _, rest = line.partition(" ")
    encoded, _, comment = rest.strip(" ").partition(" ")
    if type_.endswith("-cert-v01@openssh.com"):
        raise UnusableKey("Certificates are not accepted. Send the public key.")
    if type_ not in _READERS:
        accepted = ", ".join(_READERS)
        raise UnusableKey(f"It must begin with its type, one of: {accepted}.")
    blob = _decode(encoded)
    fields = _split(blob)
    if not fields or fields[0] != type_.encode():
        raise UnusableKey("The key is of another type than the one before it.")
    try:
        is_valid = _READERS[type_](type_, fields[1:])
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UnusableKey(_REASONS.get(type_, "The key is damaged or was not made for this use."))
    return PublicKey(type_, blob, comment.strip(" ")[:MAX_LABEL])


def _decode(encoded: str) -> bytes:
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        blob = b""
    # The same key must not have two spellings.
    if not blob or base64.b64encode(blob).decode() != encoded:
        raise UnusableKey("The key is not complete: it is not base64.")
    return blob


def _split(blob: bytes) -> list[bytes]:
    """The fields of the key: each has its length in four bytes before it."""
    fields, position = [], 0
    while position < len(blob):
        length = int.from_bytes(blob[position : position + 4], "big")
        end = position + 4 + length
        if len(blob) < position + 4 or len(blob) < end:
            raise UnusableKey("The key is not complete.")
        fields.append(blob[position + 4 : end])
        position = end
    return fields


def _is_ed25519(_: str, fields: list[bytes]) -> bool:
    (point,) = fields
    if len(point) != _POINT_BYTES:
        return False
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return y < _FIELD and y not in _SMALL_ORDER


def _is_sk_ed25519(type_: str, fields: list[bytes]) -> bool:
    point, application = fields
    return _is_ed25519(type_, [point]) and _is_application(application)


def _is_ecdsa(type_: str, fields: list[bytes]) -> bool:
    curve, point = fields
    name = type_.removeprefix("sk-").removesuffix("@openssh.com").removeprefix("ecdsa-sha2-")
    if curve != name.encode() or point[:1] != b"\x04":
        return False
    EllipticCurvePublicKey.from_encoded_point(_CURVES[name](), point)
    return True


def _is_sk_ecdsa(type_: str, fields: list[bytes]) -> bool:
    curve, point, application = fields
    return _is_ecdsa(type_, [curve, point]) and _is_application(application)


def _is_rsa(_: str, fields: list[bytes]) -> bool:
    exponent, modulus = (_positive(field) for field in fields)
    return (
        exponent % 2 == 1
        and exponent >= 3
        and exponent.bit_length() <= MAX_EXPONENT_BITS
        and modulus % 2 == 1
        and MIN_RSA_BITS <= modulus.bit_length() <= MAX_RSA_BITS
    )


def _positive(field: bytes) -> int:
    """A number as the protocol writes it: without unnecessary zeros, and not negative."""
    number = int.from_bytes(field, "big")
    if field != number.to_bytes(number.bit_length() // 8 + 1, "big"):
        raise ValueError
    return number


def _is_application(field: bytes) -> bool:
    """What a security key was asked to make the key for."""
    return field.startswith(b"ssh:") and len(field) <= MAX_APPLICATION and field.isascii()


_READERS = {
    "ssh-ed25519": _is_ed25519,
    "sk-ssh-ed25519@openssh.com": _is_sk_ed25519,
    "ecdsa-sha2-nistp256": _is_ecdsa,
    "ecdsa-sha2-nistp384": _is_ecdsa,
    "ecdsa-sha2-nistp521": _is_ecdsa,
    "sk-ecdsa-sha2-nistp256@openssh.com": _is_sk_ecdsa,
    "ssh-rsa": _is_rsa,
}
_REASONS = {
    "ssh-rsa": f"An RSA key must have between {MIN_RSA_BITS} and {MAX_RSA_BITS} bits. Better use ssh-ed25519."
}
