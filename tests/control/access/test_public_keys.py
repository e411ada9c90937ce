"""Which public keys are accepted."""

import base64
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stead.control.access.public_keys import UnusableKey, parse_public_key
from tests.control.access.keys import new_public_key

ED25519 = "ssh-ed25519"
SSH_KEYGEN = "/usr/bin/ssh-keygen"


def field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def key_of(type_: str, *fields: bytes, name: str | None = None) -> str:
    blob = b"".join(map(field, ((name or type_).encode(), *fields)))
    return f"{type_} {base64.b64encode(blob).decode()}"


def number(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


def openssh(key: ec.EllipticCurvePublicKey) -> str:
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


POINT = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
)
VALID = new_public_key()
_, ENCODED = VALID.split()
BLOB = base64.b64decode(ENCODED)
E32 = BLOB[-32:]
MODULUS = 2**2047 + 1


@pytest.mark.parametrize("kind", [("ed25519",), ("ecdsa", "-b", "384"), ("rsa", "-b", "2048")])
def test_keys_of_openssh_have_the_fingerprint_that_openssh_shows(
    tmp_path: Path, kind: tuple[str, ...]
) -> None:
    file = tmp_path / "key"
    subprocess.run(
        [SSH_KEYGEN, "-q", "-t", *kind, "-N", "", "-C", "anna at home", "-f", file], check=True, timeout=60
    )
    text = file.with_suffix(".pub").read_text()
    key = parse_public_key(text)
    shown = subprocess.run(
        [SSH_KEYGEN, "-l", "-f", file.with_suffix(".pub")], check=True, capture_output=True, timeout=60
    )
    assert key.fingerprint == shown.stdout.decode().split()[1]
    assert key.comment == "anna at home"
    assert text.startswith(key.text)
    with pytest.raises(UnusableKey, match="private key"):
        parse_public_key(file.read_text())


@pytest.mark.parametrize(
    "text",
    [
        openssh(ec.generate_private_key(ec.SECP256R1()).public_key()),
        openssh(ec.generate_private_key(ec.SECP521R1()).public_key()),
        key_of("sk-ssh-ed25519@openssh.com", E32, b"ssh:"),
        key_of("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", POINT, b"ssh:work"),
        key_of("ssh-rsa", number(65537), number(MODULUS)),
        f"  {VALID}\r\n",
    ],
    ids=["P-256", "P-521", "Ed25519 in hardware", "P-256 in hardware", "RSA", "space around it"],
)
def test_modern_keys_are_accepted(text: str) -> None:
    assert parse_public_key(text).fingerprint.startswith("SHA256:")


REFUSED = {
    "nothing": "",
    "no key": "hello",
    "only the type": ED25519,
    "only base64": ENCODED,
    "an option before it": f'command="/bin/sh" {VALID}',
    "several options before it": f'no-pty,from="10.0.0.1" {VALID}',
    "a certificate authority": f"cert-authority {VALID}",
    "a certificate": key_of("ssh-ed25519-cert-v01@openssh.com", b"n" * 32, E32),
    "two lines": f"{VALID}\n{new_public_key()}",
    "an option on a second line": f'{VALID}\ncommand="id" {new_public_key()}',
    "a control character": f"{VALID} a\x1bb",
    "a line separator": f"{VALID} a\u2028b",
    "a text direction": f"{VALID} \u202eb",
    "the type in capitals": VALID.replace(ED25519, "SSH-ED25519"),
    "another type than it has": VALID.replace(ED25519, "ssh-rsa"),
    "another type inside": key_of(ED25519, E32, name="ssh-rsa"),
    "not base64": f"{ED25519} !!!!",
    "base64 with a gap": f"{ED25519} {ENCODED[:20]}\u00a0{ENCODED[20:]}",
    "another alphabet": f"{ED25519} {base64.urlsafe_b64encode(b'????' + BLOB).decode()}",
    "a second spelling": f"{ED25519} {ENCODED}====",
    "cut off": f"{ED25519} {base64.b64encode(BLOB[:-1]).decode()}",
    "too long": f"{ED25519} {base64.b64encode(BLOB + b'x').decode()}",
    "a huge length": f"{ED25519} {base64.b64encode(bytes([255] * 4) + BLOB).decode()}",
    "one field too many": key_of(ED25519, E32, b"x"),
    "one field too few": key_of(ED25519),
    "a short point": key_of(ED25519, E32[:31]),
    "the neutral point": key_of(ED25519, b"\x01" + bytes(31)),
    "zero": key_of(ED25519, bytes(32)),
    "zero with a sign": key_of(ED25519, bytes(31) + b"\x80"),
    "a point of order eight": key_of(
        ED25519, bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
    ),
    "a point outside the field": key_of(ED25519, b"\xff" * 31 + b"\x7f"),
    "DSA": key_of("ssh-dss", *[number(2**1023 + 1)] * 4),
    "RSA with 1024 bits": key_of("ssh-rsa", number(65537), number(2**1023 + 1)),
    "RSA with too many bits": key_of("ssh-rsa", number(65537), number(2**16383 + 1)),
    "RSA with an even modulus": key_of("ssh-rsa", number(65537), number(2**2048 - 2)),
    "RSA with the exponent one": key_of("ssh-rsa", number(1), number(MODULUS)),
    "RSA with an even exponent": key_of("ssh-rsa", number(65536), number(MODULUS)),
    "RSA with a huge exponent": key_of("ssh-rsa", number(2**2000 + 1), number(MODULUS)),
    "RSA with a negative modulus": key_of("ssh-rsa", number(65537), number(MODULUS)[1:]),
    "RSA with zeros before the modulus": key_of("ssh-rsa", number(65537), bytes(8) + number(MODULUS)),
    "RSA with an empty modulus": key_of("ssh-rsa", number(65537), b""),
    "a point that is not on the curve": key_of("ecdsa-sha2-nistp256", b"nistp256", b"\x04" + b"\x01" * 64),
    "the point at infinity": key_of("ecdsa-sha2-nistp256", b"nistp256", b"\x00"),
    "another curve": key_of("ecdsa-sha2-nistp384", b"nistp384", POINT),
    "another curve's name": key_of("ecdsa-sha2-nistp256", b"nistp384", POINT),
    "an unknown curve": key_of("ecdsa-sha2-secp256k1", b"secp256k1", POINT),
    "a security key for web sites": key_of("sk-ssh-ed25519@openssh.com", E32, b"https://example.com"),
    "a security key without its use": key_of("sk-ssh-ed25519@openssh.com", E32),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UnusableKey):
        parse_public_key(text)
