"""A repeated POST answers as it did the first time, and happens once."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"
BODY = {"scopes": ["sites:read"], "name": "once"}


def once(key: str | None = None) -> dict[str, str]:
    return {"idempotency-key": key or str(uuid4())}


async def count(person: Person) -> int:
    return len((await person.session.get(KEYS, params={"limit": 100})).json()["data"])


def replayed(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("idempotent-replayed") == "true")


async def test_a_repeated_request_replays_its_answer_verbatim(person: Person):
    header = once()
    first = await person.session.post(KEYS, json=BODY, headers=header)
    again = await person.session.post(KEYS, json=BODY, headers=header)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert replayed(again)
    assert not replayed(first)
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert again.headers["content-type"] == first.headers["content-type"]
    assert await count(person) == 1


async def test_a_repeated_roll_shows_the_same_secret_and_keeps_the_old_one(person: Person, anonymous: Client):
    """Who lost the answer of a roll must not lose the key by asking again."""
    minted = (await person.session.post(KEYS, json={"scopes": ["account:read"]})).json()["data"]
    header, address = once(), f"{KEYS}/{minted['id']}/roll"
    answers = [await person.session.post(address, headers=header) for _ in range(3)]
    assert len({answer.content for answer in answers}) == 1
    for secret in (minted["secret"], answers[0].json()["data"]["secret"]):
        assert (await anonymous.as_(secret).get("/v1/account")).status_code == 200


async def test_without_a_key_every_request_counts(person: Person):
    for _ in range(2):
        assert (await person.session.post(KEYS, json=BODY)).status_code == 201
    assert await count(person) == 2


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (b'{"scopes":["sites:write"]}', ""),
        (b'{"scopes":["sites:read"] }', ""),
        (b'{"scopes":["sites:read"]}', "?x=1"),
    ],
)
async def test_the_same_key_for_another_request_is_a_conflict(person: Person, body: bytes, query: str):
    header = once()
    await person.session.post(KEYS, content=b'{"scopes":["sites:read"]}', headers=header)
    refused = await person.session.post(f"{KEYS}{query}", content=body, headers=header)
    assert (refused.status_code, code_of(refused)) == (409, "idempotency.key_reused")
    assert await count(person) == 1


async def test_the_parts_of_a_request_cannot_be_shifted_into_one_another(person: Person):
    """The query `a` with the body `b…` is not the query `ab` with the rest of it."""
    header, body = once(), b' {"scopes":["sites:read"]}'
    assert (await person.session.post(f"{KEYS}?a", content=body, headers=header)).status_code == 201
    refused = await person.session.post(f"{KEYS}?a%20", content=body[1:], headers=header)
    assert code_of(refused) == "idempotency.key_reused"


async def test_another_path_is_another_request(person: Person):
    minted = [(await person.session.post(KEYS, json=BODY)).json()["data"]["id"] for _ in range(2)]
    header = once()
    answers = [await person.session.post(f"{KEYS}/{id_}/roll", headers=header) for id_ in minted]
    assert [answer.json()["data"]["id"] for answer in answers] == minted
    assert not any(replayed(answer) for answer in answers)


async def test_another_account_is_another_request(person: Person, stranger: Person):
    header = once()
    mine = await person.session.post(KEYS, json=BODY, headers=header)
    theirs = await stranger.session.post(KEYS, json=BODY, headers=header)
    assert theirs.status_code == 201
    assert not replayed(theirs)
    assert mine.json()["data"]["secret"] not in theirs.text
    assert mine.json()["data"]["id"] != theirs.json()["data"]["id"]


async def test_a_key_is_new_again_after_24_hours(person: Person, clock: MovableClock):
    key, header = await person.key(), once()
    first = await key.post(KEYS, json=BODY, headers=header)
    clock.move(timedelta(hours=23, minutes=59))
    assert (await key.post(KEYS, json=BODY, headers=header)).content == first.content
    clock.move(timedelta(minutes=2))
    fresh = await key.post(KEYS, json={"scopes": ["tls:read"]}, headers=header)
    assert (fresh.status_code, replayed(fresh)) == (201, False)
    assert fresh.json()["data"]["id"] != first.json()["data"]["id"]
    repeated = await key.post(KEYS, json={"scopes": ["tls:read"]}, headers=header)
    assert repeated.content == fresh.content


async def test_a_key_has_1_to_255_characters(person: Person):
    longest = await person.session.post(KEYS, json=BODY, headers=once("k" * 255))
    assert longest.status_code == 201
    for key in ("k" * 256, "k" * 5000, ""):
        refused = await person.session.post(KEYS, json=BODY, headers={"idempotency-key": key})
        assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
        assert refused.json()["error"]["param"] == "Idempotency-Key"
    assert await count(person) == 1


async def test_keys_that_differ_only_in_case_or_at_the_end_are_different(person: Person):
    for key in ("a", "A", "a" * 254, "a" * 255, "a b", "é"):
        headers = {b"idempotency-key": key.encode("latin-1")}
        answer = await person.session.post(KEYS, json=BODY, headers=headers)
        assert (answer.status_code, replayed(answer)) == (201, False)


async def test_twins_at_the_same_moment_have_one_effect(person: Person):
    header = once()
    answers = await asyncio.gather(*[person.session.post(KEYS, json=BODY, headers=header) for _ in range(8)])
    made = [answer for answer in answers if answer.status_code == 201 and not replayed(answer)]
    assert len(made) == 1
    for answer in answers:
        if answer.status_code == 201:
            assert answer.content == made[0].content
        else:
            assert (answer.status_code, code_of(answer)) == (409, "idempotency.in_flight")
    assert await count(person) == 1
    assert (await person.session.post(KEYS, json=BODY, headers=header)).content == made[0].content


async def test_twins_with_different_bodies_have_one_effect(person: Person):
    header = once()
    answers = await asyncio.gather(
        *[person.session.post(KEYS, json=BODY | {"name": str(n)}, headers=header) for n in range(8)]
    )
    assert sum(answer.status_code == 201 for answer in answers) == 1
    refusals = {code_of(answer) for answer in answers if answer.status_code != 201}
    assert refusals <= {"idempotency.in_flight", "idempotency.key_reused"}
    assert await count(person) == 1


async def test_a_twin_of_a_request_still_at_work_is_told_to_wait(person: Person, plane: ControlPlane):
    """The roll waits for a row that the test holds, so it is certainly in flight."""
    minted = (await person.session.post(KEYS, json=BODY)).json()["data"]["id"]
    header, address = once(), f"{KEYS}/{minted}/roll"
    async with plane.database.transaction() as tx:
        await tx.value("select 1 from api_keys where id = $1 for update", minted)
        first = asyncio.create_task(person.session.post(address, headers=header))
        await asyncio.sleep(0.15)
        twin = await person.session.post(address, headers=header)
        assert (twin.status_code, code_of(twin)) == (409, "idempotency.in_flight")
    assert (await first).status_code == 200
    assert (await person.session.post(address, headers=header)).content == (await first).content


async def test_a_refused_request_does_not_use_its_key_up(person: Person):
    weak, header = await person.key("keys:read"), once()
    roll = f"{KEYS}/{new_id('key')}/roll"
    pin = {"resource": {"type": "site", "id": new_id("site")}}
    for refused, status in (
        (await person.session.post(KEYS, json={"scopes": ["nope"]}, headers=header), 400),
        (await person.session.post(KEYS, content=b"{", headers=header), 400),
        (await weak.post(KEYS, json=BODY, headers=header), 403),
        (await person.session.post(KEYS, json=BODY | pin, headers=header), 404),
        (await person.session.post(roll, headers=header), 404),
    ):
        assert (refused.status_code, replayed(refused)) == (status, False)
    made = await person.session.post(KEYS, json=BODY, headers=header)
    assert (made.status_code, replayed(made)) == (201, False)


async def test_a_replay_outlives_what_it_told_of(person: Person):
    """Verbatim means what was answered then, not what is there now."""
    header = once()
    first = await person.session.post(KEYS, json=BODY, headers=header)
    await person.session.delete(f"{KEYS}/{first.json()['data']['id']}")
    assert (await person.session.post(KEYS, json=BODY, headers=header)).content == first.content


async def test_only_posts_are_replayed(person: Person):
    minted = (await person.session.post(KEYS, json=BODY)).json()["data"]["id"]
    header = once()
    for name in ("one", "two"):
        changed = await person.session.patch(f"{KEYS}/{minted}", json={"name": name}, headers=header)
        assert (changed.json()["data"]["name"], replayed(changed)) == (name, False)
    for _ in range(2):
        assert not replayed(await person.session.get(KEYS, headers=header))
