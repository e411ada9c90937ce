"""What is sealed opens with its key, in its place, unchanged; otherwise not at all."""

import base64
import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import assume, given
from hypothesis import strategies as st

from stead.control.sealing import SealBroken, Sealer

SEALER = Sealer(b"k" * 32)


@given(plain=st.binary(), context=st.binary())
def test_what_was_sealed_opens_again(plain: bytes, context: bytes):
    assert SEALER.open(SEALER.seal(plain, context=context), context=context) == plain


@given(plain=st.binary(), context=st.binary(), other=st.binary())
def test_it_does_not_open_in_another_place(plain: bytes, context: bytes, other: bytes):
    assume(context != other)
    with pytest.raises(SealBroken):
        SEALER.open(SEALER.seal(plain, context=context), context=other)


@given(plain=st.binary(max_size=40), place=st.integers(0), bit=st.integers(0, 7))
def test_any_flipped_bit_breaks_the_seal(plain: bytes, place: int, bit: int):
    sealed = bytearray(SEALER.seal(plain, context=b"here"))
    sealed[place % len(sealed)] ^= 1 << bit
    with pytest.raises(SealBroken):
        SEALER.open(bytes(sealed), context=b"here")


@given(plain=st.binary(max_size=40), length=st.integers(0))
def test_anything_cut_off_breaks_the_seal(plain: bytes, length: int):
    sealed = SEALER.seal(plain, context=b"here")
    with pytest.raises(SealBroken):
        SEALER.open(sealed[: length % len(sealed)], context=b"here")


@given(st.binary(), st.binary())
def test_arbitrary_bytes_do_not_open(sealed: bytes, context: bytes):
    with pytest.raises(SealBroken):
        SEALER.open(sealed, context=context)


def test_another_installations_key_does_not_open_it():
    with pytest.raises(SealBroken):
        Sealer(os.urandom(32)).open(SEALER.seal(b"plain", context=b"here"), context=b"here")


def test_the_same_plain_text_never_looks_the_same():
    assert len({SEALER.seal(b"plain", context=b"here") for _ in range(100)}) == 100


def test_nothing_of_the_plain_text_shows():
    assert b"canary" not in SEALER.seal(b"a canary in a mine", context=b"here")


@pytest.mark.parametrize("size", [0, 16, 31, 33, 64])
def test_a_key_of_another_size_is_refused(size: int):
    with pytest.raises(ValueError, match="32"):
        Sealer(bytes(size))


def test_a_key_is_read_from_base64():
    text = base64.b64encode(b"k" * 32).decode()
    assert Sealer.from_text(text).open(SEALER.seal(b"plain", context=b""), context=b"") == b"plain"


def test_a_value_names_its_key_and_opens_while_that_key_is_known() -> None:
    old, new = bytes(range(32)), bytes(range(1, 33))
    sealed = Sealer(old).seal(b"plain", context=b"c")
    both = Sealer.from_text(f"{base64.b64encode(new).decode()},{base64.b64encode(old).decode()}")
    assert both.open(sealed, context=b"c") == b"plain"
    assert not both.is_current(sealed)
    again = both.seal(b"plain", context=b"c")
    assert both.is_current(again)
    assert Sealer(new).open(again, context=b"c") == b"plain"
    assert sealed[1:5] != again[1:5]
    for sealer, value in ((Sealer(new), sealed), (Sealer(old), again)):
        with pytest.raises(SealBroken):
            sealer.open(value, context=b"c")


@pytest.mark.parametrize("first", [b"\x00", b"\x01"])
def test_a_value_of_an_earlier_version_opens(first: bytes) -> None:
    key, nonce = bytes(range(32)), first + bytes(11)
    derived = HKDF(SHA256(), 32, salt=None, info=b"c").derive(key)
    sealed = nonce + ChaCha20Poly1305(derived).encrypt(nonce, b"plain", b"c")
    assert Sealer(bytes(32), key).open(sealed, context=b"c") == b"plain"


def test_the_head_of_a_value_cannot_be_changed_or_removed() -> None:
    sealer = Sealer(bytes(range(32)))
    sealed = sealer.seal(b"plain", context=b"c")
    for changed in (sealed[5:], b"\x02" + sealed[1:], sealed[:1] + b"abcd" + sealed[5:], b"", b"\x01"):
        with pytest.raises(SealBroken):
            sealer.open(changed, context=b"c")
