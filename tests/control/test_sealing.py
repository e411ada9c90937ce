"""What is sealed opens with its key, in its place, unchanged; otherwise not at all."""

import base64
import os

import pytest
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
