"""The format and the order of identifiers, and the cell they contain."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.shared.ids import ALPHABET, IdGenerator, has_shape, new_id

SHAPE = re.compile(r"[a-z]+_[0-9a-hjkmnp-tv-z]{26}")
prefixes = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)


def cell_of(identifier: str) -> int:
    first, second = list(identifier.rpartition("_")[2][10:12])
    return ALPHABET.index(first) * 32 + ALPHABET.index(second)


def moment_of(identifier: str) -> int:
    number = 0
    for letter in identifier.rpartition("_")[2][:10]:
        number = number * 32 + ALPHABET.index(letter)
    return number


@given(prefixes)
def test_an_identifier_is_a_prefix_and_26_characters(prefix: str):
    made = new_id(prefix)
    assert SHAPE.fullmatch(made)
    assert made.startswith(f"{prefix}_")
    assert has_shape(prefix, made)


def test_identifiers_of_one_process_strictly_ascend():
    made = [new_id("key") for _ in range(20_000)]
    assert all(earlier < later for earlier, later in pairwise(made))


def test_identifiers_ascend_in_every_thread_and_are_unique():
    mint, together = IdGenerator(), Barrier(8)

    def many() -> list[str]:
        together.wait()
        return [mint("key") for _ in range(3_000)]

    with ThreadPoolExecutor(8) as pool:
        batches = [batch.result() for batch in [pool.submit(many) for _ in range(8)]]
    for batch in batches:
        assert batch == sorted(batch)
    assert len({each for batch in batches for each in batch}) == 24_000


def test_identifiers_sort_after_those_of_a_thread_that_finished_earlier():
    mint = IdGenerator()
    for _ in range(50):
        with ThreadPoolExecutor(2) as pool:
            earlier = [made.result() for made in [pool.submit(mint, "key") for _ in range(4)]]
        assert max(earlier) < mint("key")


def test_identifiers_still_ascend_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch):
    mint, now = IdGenerator(), time.time_ns()
    made = []
    for step in (0, 5_000_000, -3_600_000_000_000, -1, 1_000_000):
        monkeypatch.setattr(time, "time_ns", lambda at=now + step: at)
        made += [mint("key") for _ in range(3)]
    assert made == sorted(set(made))


def test_an_identifier_contains_its_creation_time():
    before = time.time_ns() // 1_000_000
    made = IdGenerator()("req")
    assert before <= moment_of(made) <= time.time_ns() // 1_000_000


@given(st.integers(0, 1023))
def test_an_identifier_contains_its_cell(cell: int):
    mint = IdGenerator()
    mint.set_cell(cell)
    made = mint("site")
    assert cell_of(made) == cell
    assert has_shape("site", made)


@pytest.mark.parametrize("cell", [-1, 1024, 10_000])
def test_a_cell_number_out_of_range_is_refused(cell: int):
    mint = IdGenerator()
    with pytest.raises(ValueError, match="cell"):
        mint.set_cell(cell)
    assert mint.cell == 0


def test_two_processes_do_not_generate_the_same_identifier():
    one, other = IdGenerator(), IdGenerator()
    assert not {one("key") for _ in range(2_000)} & {other("key") for _ in range(2_000)}


@given(st.text(max_size=40))
def test_only_identifiers_have_the_shape(text: str):
    assert has_shape("key", text) == bool(re.fullmatch(r"key_[0-9a-hjkmnp-tv-z]{26}", text))


@given(st.integers(0, 29), st.characters())
def test_a_changed_character_keeps_the_shape_only_within_the_alphabet(place: int, letter: str):
    made = new_id("key")
    changed = made[:place] + letter + made[place + 1 :]
    allowed = made[place] if place < 4 else ALPHABET
    assert has_shape("key", changed) == (letter in allowed)


@pytest.mark.parametrize("spoil", [str.upper, lambda it: it + "\n", lambda it: " " + it, lambda it: it + "0"])
def test_a_malformed_identifier_is_refused(spoil):
    assert not has_shape("key", spoil(new_id("key")))


@given(prefixes.filter(lambda prefix: prefix != "key"))
def test_an_identifier_of_another_type_is_refused(prefix: str):
    assert not has_shape("key", new_id(prefix))
    assert not has_shape(prefix, new_id("key"))
