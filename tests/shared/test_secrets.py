"""Bearer secrets are recognized, and anything else is refused without a query."""

import hashlib
import re
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stead.shared.ids import new_id
from stead.shared.secrets import FAMILIES, Family, digest, family_of, mint

families = st.sampled_from(FAMILIES)
LETTERS = string.ascii_letters + string.digits


@given(families)
def test_every_minted_secret_is_recognized(family: Family):
    secret = mint(family)
    assert family_of(secret.text) == family == secret.family
    assert re.fullmatch(rf"{family}_[0-9A-Za-z]{{38}}", secret.text)
    assert secret.last4 == secret.text[-4:]


@given(families, st.data())
def test_a_secret_with_one_changed_character_is_refused(family: Family, data: st.DataObject):
    text = mint(family).text
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.one_of(st.sampled_from(LETTERS + "_-"), st.characters()))
    assume(letter != text[place])
    assert family_of(text[:place] + letter + text[place + 1 :]) is None


@given(families, st.data())
def test_a_secret_with_two_swapped_characters_is_refused(family: Family, data: st.DataObject):
    text = mint(family).text
    place = data.draw(st.integers(0, len(text) - 2))
    first, second = text[place], text[place + 1]
    assume(first != second)
    assert family_of(text[:place] + second + first + text[place + 2 :]) is None


@given(families, st.integers(0, 60), st.sampled_from(LETTERS))
def test_a_secret_with_a_lost_or_added_character_is_refused(family: Family, place: int, letter: str):
    text = mint(family).text
    place %= len(text)
    assert family_of(text[:place] + text[place + 1 :]) is None
    assert family_of(text[:place] + letter + text[place:]) is None


@given(families, families)
def test_a_secret_cannot_change_its_family(family: Family, other: Family):
    assume(family != other)
    assert family_of(mint(family).text.replace(family, other)) is None


@given(st.text(max_size=80))
def test_arbitrary_text_is_refused_without_an_error(text: str):
    assert family_of(text) is None


@given(families, st.text(min_size=38, max_size=38))
def test_arbitrary_text_with_a_known_prefix_is_refused(family: Family, rest: str):
    assert family_of(f"{family}_{rest}") is None


@given(families, st.text("".join(["\ud800", "\udfff", "\x00", "\n", "٣", "é"]), min_size=1, max_size=4))
def test_a_secret_with_unusual_characters_is_refused(family: Family, strange: str):
    text = mint(family).text
    for spoiled in (strange + text, text + strange, text[: -len(strange)] + strange):
        assert family_of(spoiled) is None


def test_secrets_are_unique():
    assert len({mint("stead_live").text for _ in range(2_000)}) == 2_000


def test_a_secret_contains_the_cell_of_its_owner(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(new_id, "cell", 1023)
    secret = mint("stead_live")
    assert family_of(secret.text) == "stead_live"
    assert secret.text.removeprefix("stead_live_")[:2] == "GV"


def test_only_a_hash_is_stored():
    secret = mint("stead_test")
    assert secret.hash == digest(secret.text) == hashlib.sha256(secret.text.encode()).digest()
