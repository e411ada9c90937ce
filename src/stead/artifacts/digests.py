"""Digests of content: `sha256:` and 64 hexadecimal digits."""

import hashlib
import re
from typing import BinaryIO, NewType

from stead.artifacts.refusals import ArtifactUntrusted

Digest = NewType("Digest", str)
PATTERN = r"\Asha256:[0-9a-f]{64}\Z"
CHUNK = 1 << 20


def parse(text: str) -> Digest:
    if not re.match(PATTERN, text):
        raise ValueError("a digest is `sha256:` and 64 hexadecimal digits in lower case")
    return Digest(text)


def hexadecimal(digest: Digest) -> str:
    return digest.removeprefix("sha256:")


def of(content: bytes) -> Digest:
    return Digest(f"sha256:{hashlib.sha256(content).hexdigest()}")


def of_file(file: BinaryIO) -> tuple[Digest, int]:
    """Digest and length of the rest of the file."""
    state, size, buffer = hashlib.sha256(), 0, bytearray(CHUNK)
    view = memoryview(buffer)
    while (got := file.readinto(view)) > 0:  # type: ignore[attr-defined]
        state.update(view[:got])
        size += got
    return Digest(f"sha256:{state.hexdigest()}"), size


def check(what: str, content: bytes, expected: Digest) -> None:
    if of(content) != expected:
        raise ArtifactUntrusted(f"{what} is not what its digest says")
