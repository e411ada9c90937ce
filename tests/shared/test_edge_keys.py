"""Private keys of certificates are sealed for one region and one host."""

import base64
import os

import pytest

from stead.shared.edge_keys import (
    InvalidEdgeKey,
    UnsealFailed,
    key_from_text,
    key_to_text,
    region_key,
    seal,
    unseal,
)

MASTER = bytes(range(32))
PEM = "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n"


def test_a_sealed_key_can_be_unsealed_for_its_region_and_host() -> None:
    key = region_key(MASTER, "us-east")
    sealed = seal(key, "shop.example.com", PEM)
    assert "PRIVATE" not in sealed
    assert unseal([key], "shop.example.com", sealed) == PEM


def test_sealing_a_key_twice_gives_different_results() -> None:
    key = region_key(MASTER, "us-east")
    assert seal(key, "shop.example.com", PEM) != seal(key, "shop.example.com", PEM)


def test_a_sealed_key_cannot_be_unsealed_for_another_region_or_host_or_after_a_change() -> None:
    key = region_key(MASTER, "us-east")
    sealed = seal(key, "shop.example.com", PEM)
    with pytest.raises(UnsealFailed):
        unseal([region_key(MASTER, "eu-west")], "shop.example.com", sealed)
    with pytest.raises(UnsealFailed):
        unseal([region_key(os.urandom(32), "us-east")], "shop.example.com", sealed)
    with pytest.raises(UnsealFailed):
        unseal([key], "other.example.com", sealed)
    raw = bytearray(base64.b64decode(sealed))
    raw[-1] ^= 1
    for malformed in (base64.b64encode(raw).decode(), "", "%", sealed[:8]):
        with pytest.raises(UnsealFailed):
            unseal([key], "shop.example.com", malformed)


def test_the_key_of_a_region_is_always_the_same() -> None:
    assert region_key(MASTER, "us-east") == region_key(MASTER, "us-east") != region_key(MASTER, "us-west")
    assert key_from_text(key_to_text(MASTER)) == MASTER


@pytest.mark.parametrize("text", ["", "short", "!!!!", base64.b64encode(bytes(31)).decode()])
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidEdgeKey):
        key_from_text(text)
