"""Keys of certificates, sealed for one region and one host."""

import base64
import os

import pytest

from stead.shared.edge_keys import (
    KeyUnusable,
    SealBroken,
    key_from_text,
    key_to_text,
    region_key,
    seal,
    unseal,
)

MASTER = bytes(range(32))
PEM = "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n"


def test_what_was_sealed_for_a_region_and_a_host_opens_there() -> None:
    key = region_key(MASTER, "us-east")
    sealed = seal(key, "shop.example.com", PEM)
    assert "PRIVATE" not in sealed
    assert unseal(key, "shop.example.com", sealed) == PEM


def test_the_same_key_is_sealed_differently_each_time() -> None:
    key = region_key(MASTER, "us-east")
    assert seal(key, "shop.example.com", PEM) != seal(key, "shop.example.com", PEM)


def test_it_opens_neither_in_another_region_nor_for_another_host_nor_when_changed() -> None:
    key = region_key(MASTER, "us-east")
    sealed = seal(key, "shop.example.com", PEM)
    with pytest.raises(SealBroken):
        unseal(region_key(MASTER, "eu-west"), "shop.example.com", sealed)
    with pytest.raises(SealBroken):
        unseal(region_key(os.urandom(32), "us-east"), "shop.example.com", sealed)
    with pytest.raises(SealBroken):
        unseal(key, "other.example.com", sealed)
    raw = bytearray(base64.b64decode(sealed))
    raw[-1] ^= 1
    for spoilt in (base64.b64encode(raw).decode(), "", "%", sealed[:8]):
        with pytest.raises(SealBroken):
            unseal(key, "shop.example.com", spoilt)


def test_a_region_has_the_same_key_every_time_it_is_asked_for() -> None:
    assert region_key(MASTER, "us-east") == region_key(MASTER, "us-east") != region_key(MASTER, "us-west")
    assert key_from_text(key_to_text(MASTER)) == MASTER


@pytest.mark.parametrize("text", ["", "short", "!!!!", base64.b64encode(bytes(31)).decode()])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(KeyUnusable):
        key_from_text(text)
