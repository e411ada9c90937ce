"""Walking a list that grows meanwhile: everything that was there is seen once, newest first."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stead.control.accounts.service import owner_principal
from stead.control.app import ControlPlane
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"
real = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def add_keys(plane: ControlPlane, person: Person, count: int) -> list[str]:
    """New keys, in one transaction, oldest first."""
    owner, new = owner_principal(person.account), NewKey(scopes=["sites:read"])
    async with plane.database.transaction() as tx:
        return [(await keys.create(tx, owner, new))[0].id for _ in range(count)]


async def read_page(client: Client, limit: int, cursor: str | None) -> tuple[list[str], str | None]:
    answer = await client.get(KEYS, params={"limit": limit} | ({"cursor": cursor} if cursor else {}))
    assert answer.status_code == 200, answer.text
    body = answer.json()
    after = body["pagination"]["next_cursor"]
    assert body["pagination"]["has_more"] == (after is not None)
    return [key["id"] for key in body["data"]], after


async def walk(client: Client, limits: Sequence[int]) -> list[str]:
    seen, cursor = await read_page(client, limits[0], None)
    step = 1
    while cursor is not None:
        ids, cursor = await read_page(client, limits[step % len(limits)], cursor)
        seen += ids
        step += 1
    return seen


limits = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@pytest.mark.parametrize("limit", ["0", "-1", "-100", "-0", "1.5", "many", ""])
async def test_a_limit_below_one_is_refused(person: Person, limit: str):
    answer = await person.session.get(KEYS, params={"limit": limit})
    assert (answer.status_code, answer.json()["error"].get("param")) == (400, "limit")


@given(count=st.integers(0, 24), limits=limits)
@real
async def test_a_walk_shows_everything_once_newest_first(plane, new_person, count: int, limits: list[int]):
    person = await new_person()
    there = await add_keys(plane, person, count)
    assert await walk(person.session, limits) == there[::-1]


@given(count=st.integers(1, 20), limits=limits, arrivals=st.lists(st.integers(0, 3), min_size=1, max_size=6))
@real
async def test_what_arrives_between_pages_neither_repeats_nor_hides_anything(
    plane, new_person, count: int, limits: list[int], arrivals: list[int]
):
    person = await new_person()
    there = await add_keys(plane, person, count)
    seen, cursor = await read_page(person.session, limits[0], None)
    step = 0
    while cursor is not None:
        await add_keys(plane, person, arrivals[step % len(arrivals)])
        step += 1
        ids, cursor = await read_page(person.session, limits[step % len(limits)], cursor)
        seen += ids
    assert seen == there[::-1]


@given(count=st.integers(1, 16), limits=limits, arrivals=st.lists(st.integers(1, 4), min_size=1, max_size=4))
@real
async def test_what_arrives_during_the_pages_neither_repeats_nor_hides_anything(
    plane, new_person, count: int, limits: list[int], arrivals: list[int]
):
    """Writers run beside the reader, so their transactions are open while pages are read."""
    person = await new_person()
    there = await add_keys(plane, person, count)
    reader = asyncio.create_task(walk(person.session, limits))
    written = await asyncio.gather(*[add_keys(plane, person, each) for each in arrivals])
    seen = await reader
    assert seen == sorted(set(seen), reverse=True)
    assert [key for key in seen if key in set(there)] == there[::-1]
    assert set(seen) <= set(there) | {key for batch in written for key in batch}


@given(count=st.integers(2, 12), data=st.data())
@real
async def test_revoking_and_renaming_do_not_move_anything(plane, new_person, count: int, data: st.DataObject):
    person = await new_person()
    there = await add_keys(plane, person, count)
    touched = data.draw(st.lists(st.sampled_from(there), max_size=4))
    seen, cursor = await read_page(person.session, data.draw(st.integers(1, count)), None)
    for key in touched:
        await person.session.patch(f"{KEYS}/{key}", json={"name": "renamed"})
        await person.session.delete(f"{KEYS}/{key}")
        await person.session.delete(f"{KEYS}/{key}")
    while cursor is not None:
        ids, cursor = await read_page(person.session, 3, cursor)
        seen += ids
    assert seen == there[::-1]


@pytest.mark.parametrize(
    ("asked", "given_"),
    [("1", 1), ("100", 100), ("101", 100), ("999999999999", 100), (None, 50)],
)
async def test_a_limit_is_brought_into_bounds(person: Person, plane, asked: str | None, given_: int):
    await add_keys(plane, person, 102)
    answer = await person.session.get(KEYS, params={} if asked is None else {"limit": asked})
    assert len(answer.json()["data"]) == given_
    assert answer.json()["pagination"]["has_more"] is True


@pytest.mark.parametrize("limit", ["", "ten", "1.5", "1e2", "0x10", "9" * 5000, "NaN", "--1"])
async def test_a_limit_that_is_no_number_is_refused(person: Person, limit: str):
    refused = await person.session.get(KEYS, params={"limit": limit})
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == "limit"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6])
async def test_there_is_no_cursor_exactly_when_there_is_no_more(person: Person, plane, count: int):
    await add_keys(plane, person, count)
    answer = (await person.session.get(KEYS, params={"limit": 3})).json()
    assert answer["pagination"]["has_more"] is (count > 3)
    assert (answer["pagination"]["next_cursor"] is None) is (count <= 3)


async def refusal(person: Person, cursor: str) -> tuple[int, str]:
    answer = await person.session.get(KEYS, params={"limit": 2, "cursor": cursor})
    return answer.status_code, code_of(answer)


@pytest.fixture
async def cursor(person: Person, plane: ControlPlane) -> str:
    await add_keys(plane, person, 6)
    made = (await read_page(person.session, 3, None))[1]
    assert made is not None
    return made


INVALID = (400, "request.cursor_invalid")


@given(data=st.data())
@real
async def test_a_cursor_with_one_changed_character_is_refused(person, cursor: str, data: st.DataObject):
    place = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.one_of(st.sampled_from("AZaz09-_+/=!"), st.characters(exclude_characters="\0")))
    assume(letter != cursor[place] and letter.isprintable())
    assert await refusal(person, cursor[:place] + letter + cursor[place + 1 :]) == INVALID


async def test_a_cursor_whose_last_character_changed_is_refused(person: Person, cursor: str):
    """The last character of base64 carries bits that decoding ignores."""
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if letter != cursor[-1]:
            assert await refusal(person, cursor[:-1] + letter) == INVALID


async def test_a_truncated_cursor_is_refused(person: Person, cursor: str):
    for length in range(1, len(cursor)):
        assert await refusal(person, cursor[:length]) == INVALID, length


@pytest.mark.parametrize("extra", ["A", "=", "==", "!", " ", "\n", "AAAA"])
async def test_a_cursor_with_something_added_is_refused(person: Person, cursor: str, extra: str):
    assert await refusal(person, cursor + extra) == INVALID
    assert await refusal(person, extra + cursor) == INVALID


@given(garbage=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
@real
async def test_a_garbage_cursor_is_refused(person, garbage: str):
    assert await refusal(person, garbage) == INVALID


async def test_another_tenants_cursor_shows_nothing_of_theirs(
    person: Person, stranger: Person, plane: ControlPlane
):
    mine, theirs = await add_keys(plane, person, 4), await add_keys(plane, stranger, 6)
    mine += await add_keys(plane, person, 4)
    cursor = (await read_page(stranger.session, 3, None))[1]
    answer = await person.session.get(KEYS, params={"cursor": cursor})
    assert answer.status_code in (200, 400)
    assert not [key for key in theirs if key in answer.text]
    if answer.status_code == 200:
        assert {key["id"] for key in answer.json()["data"]} <= set(mine)
