"""A key does not outlive the key that created it, and a secret not the key that obtained it by rolling."""

import asyncio

import pytest

from tests.client import Client, code_of
from tests.people import EVERY_SCOPE, Person

KEYS = "/v1/api-keys"


async def _mint(client: Client, anonymous: Client) -> tuple[str, Client]:
    minted = await client.post(KEYS, json={"scopes": EVERY_SCOPE})
    assert minted.status_code == 201, minted.text
    key = minted.json()["data"]
    return key["id"], anonymous.as_(key["secret"])


@pytest.fixture
async def line(person: Person, anonymous: Client) -> list[tuple[str, Client]]:
    """A key, the key it created, and the key that this one created."""
    first = await _mint(person.session, anonymous)
    second = await _mint(first[1], anonymous)
    return [first, second, await _mint(second[1], anonymous)]


async def _works(client: Client) -> bool:
    return (await client.get("/v1/account")).status_code == 200


async def test_revoking_a_key_revokes_the_keys_it_created(person: Person, line: list[tuple[str, Client]]):
    assert [await _works(key) for _, key in line] == [True] * 3
    assert (await person.session.delete(f"{KEYS}/{line[0][0]}")).status_code == 204
    assert [code_of(await key.get("/v1/account")) for _, key in line] == ["auth.revoked"] * 3
    listed = (await person.session.get(KEYS)).json()["data"]
    assert all(each["revoked_at"] for each in listed)
    async with person.transaction() as tx:
        told = await tx.all(
            str,
            "select data->>'key_id' from events where account_id = $1 and type = 'key.revoked'",
            person.id,
        )
    assert sorted(told) == sorted(id_ for id_, _ in line)


async def test_revoking_a_key_leaves_its_minter_and_its_siblings(
    person: Person, anonymous: Client, line: list[tuple[str, Client]]
):
    _, sibling = await _mint(line[0][1], anonymous)
    _, unrelated = await _mint(person.session, anonymous)
    assert (await person.session.delete(f"{KEYS}/{line[1][0]}")).status_code == 204
    assert [await _works(key) for _, key in line] == [True, False, False]
    assert await _works(sibling)
    assert await _works(unrelated)


async def test_a_key_that_is_created_during_the_revocation_does_not_escape(
    person: Person, anonymous: Client, line: list[tuple[str, Client]]
):
    """Whichever comes first: the new key finds its minter revoked, or the revocation finds the new key."""
    root, last = line[0][0], line[2][1]
    minting = [last.post(KEYS, json={"scopes": ["sites:read"]}) for _ in range(12)]
    revoked, *minted = await asyncio.gather(person.session.delete(f"{KEYS}/{root}"), *minting)
    assert revoked.status_code == 204
    assert {code_of(each) for each in minted} <= {"201", "auth.revoked"}
    async with person.transaction() as tx:
        left = await tx.value(
            "select count(*) from api_keys where account_id = $1 and revoked_at is null", person.id
        )
    assert left == 0


async def _roll(client: Client, id_: str, anonymous: Client) -> Client:
    rolled = await client.post(f"{KEYS}/{id_}/roll")
    assert rolled.status_code == 200, rolled.text
    return anonymous.as_(rolled.json()["data"]["secret"])


async def test_revoking_a_key_ends_the_secrets_that_it_obtained_by_rolling_others(
    person: Person, anonymous: Client
):
    """The other key goes on with its old secret, and its owner can roll it again."""
    thief_id, thief = await _mint(person.session, anonymous)
    other_id, other = await _mint(person.session, anonymous)
    stolen = await _roll(thief, other_id, anonymous)
    assert [await _works(each) for each in (other, stolen)] == [True, True]
    assert (await person.session.delete(f"{KEYS}/{thief_id}")).status_code == 204
    assert [await _works(each) for each in (other, stolen)] == [True, False]
    assert (await person.session.get(f"{KEYS}/{other_id}")).json()["data"]["revoked_at"] is None
    clean = await _roll(person.session, other_id, anonymous)
    assert [await _works(each) for each in (other, stolen, clean)] == [True, False, True]


async def test_a_key_whose_secrets_have_all_been_obtained_by_a_revoked_key_is_revoked(
    person: Person, anonymous: Client
):
    thief_id, thief = await _mint(person.session, anonymous)
    other_id, other = await _mint(person.session, anonymous)
    _, child = await _mint(other, anonymous)
    stolen = [await _roll(thief, other_id, anonymous) for _ in range(2)]
    assert (await person.session.delete(f"{KEYS}/{thief_id}")).status_code == 204
    answers = [await each.get("/v1/account") for each in (*stolen, child)]
    assert [code_of(each) for each in answers] == ["auth.revoked"] * 3


async def test_what_is_created_or_rolled_with_an_obtained_secret_ends_with_it(
    person: Person, anonymous: Client
):
    thief_id, thief = await _mint(person.session, anonymous)
    (other_id, other), (third_id, third) = [await _mint(person.session, anonymous) for _ in range(2)]
    stolen = await _roll(thief, other_id, anonymous)
    _, created = await _mint(stolen, anonymous)
    again = await _roll(stolen, third_id, anonymous)
    itself = await _roll(again, third_id, anonymous)
    assert (await person.session.delete(f"{KEYS}/{thief_id}")).status_code == 204
    assert not any([await _works(each) for each in (stolen, created, again, itself)])
    assert await _works(other)
    assert not await _works(third), "its own secret was the oldest of three"


async def test_a_secret_that_a_session_obtained_does_not_depend_on_a_key(person: Person, anonymous: Client):
    thief_id, thief = await _mint(person.session, anonymous)
    other_id, _ = await _mint(person.session, anonymous)
    await _roll(thief, other_id, anonymous)
    clean = await _roll(person.session, other_id, anonymous)
    assert (await person.session.delete(f"{KEYS}/{thief_id}")).status_code == 204
    assert await _works(clean)


async def test_a_secret_that_is_obtained_during_the_revocation_does_not_escape(
    person: Person, anonymous: Client
):
    thief_id, thief = await _mint(person.session, anonymous)
    others = [await _mint(person.session, anonymous) for _ in range(6)]
    rolling = [thief.post(f"{KEYS}/{id_}/roll") for id_, _ in others]
    revoked, *rolled = await asyncio.gather(person.session.delete(f"{KEYS}/{thief_id}"), *rolling)
    assert revoked.status_code == 204
    assert {code_of(each) for each in rolled} <= {"200", "auth.revoked"}
    obtained = [anonymous.as_(each.json()["data"]["secret"]) for each in rolled if each.is_success]
    assert not any([await _works(each) for each in obtained])
    assert all([await _works(key) for _, key in others])


async def test_keys_that_roll_each_other_do_not_wait_for_each_other_forever(
    person: Person, anonymous: Client
):
    (first_id, first), (second_id, second) = [await _mint(person.session, anonymous) for _ in range(2)]
    for _ in range(3):
        answers = await asyncio.gather(
            first.post(f"{KEYS}/{second_id}/roll"), second.post(f"{KEYS}/{first_id}/roll")
        )
        assert [each.status_code for each in answers] == [200, 200]
        first, second = (anonymous.as_(each.json()["data"]["secret"]) for each in reversed(answers))
