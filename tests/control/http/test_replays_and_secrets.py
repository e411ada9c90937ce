"""A replay may hold a secret: it is sealed at rest, and shown to no credential that could not have asked."""

from typing import Any
from uuid import uuid4

import pytest

from stead.control.app import ControlPlane
from stead.shared.ids import new_id
from stead.shared.secrets import digest
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"
SCAN = """
select table_name, column_name from information_schema.columns
where table_schema = 'public' and (data_type in ('text', 'bytea', 'jsonb', 'ARRAY', 'character varying'))
"""


async def places_of(plane: ControlPlane, needle: bytes) -> list[str]:
    """Every column of every table in which these bytes occur, as text, as bytes or in hexadecimal."""
    found = []
    async with plane.database.reading() as tx:
        columns = await tx.all(lambda *row: row, SCAN)
    for table, column in columns:
        sql = (
            f'select count(*) from "{table}" where position($1::bytea in'
            f' case when pg_typeof("{column}") = \'bytea\'::regtype then "{column}"::text::bytea'
            f" else convert_to(\"{column}\"::text, 'UTF8') end) > 0"
            f' or position($2 in "{column}"::text) > 0'
        )
        # Nobody may hold a connection for the time that all columns take.
        async with plane.database.reading() as tx:
            if await tx.value(sql, needle, needle.hex()):
                found.append(f"{table}.{column}")
    return found


async def test_the_scan_finds_what_is_there(person: Person, plane: ControlPlane):
    """Otherwise the next tests would prove nothing."""
    canary = f"canary-{uuid4()}"
    body = {"scopes": ["sites:read"], "name": canary}
    minted = (await person.session.post(KEYS, json=body)).json()["data"]
    assert await places_of(plane, canary.encode()) == ["api_keys.name"]
    assert await places_of(plane, digest(minted["secret"])) == ["api_key_secrets.hash"]


async def test_a_secret_stands_in_no_table(person: Person, plane: ControlPlane):
    header = {"idempotency-key": str(uuid4())}
    minted = (await person.session.post(KEYS, json={"scopes": ["sites:read"]}, headers=header)).json()["data"]
    rolled = await person.session.post(f"{KEYS}/{minted['id']}/roll", headers=header)
    for secret in (minted["secret"], rolled.json()["data"]["secret"]):
        assert await places_of(plane, secret.encode()) == []
        assert await places_of(plane, secret.removeprefix("stead_live_")[:20].encode()) == []
        assert await places_of(plane, secret[-20:].encode()) == []


async def test_neither_the_idempotency_key_nor_the_request_stands_in_a_record(
    person: Person, plane: ControlPlane
):
    key = f"order-{uuid4()}"
    await person.session.post(KEYS, json={"scopes": ["sites:read"]}, headers={"idempotency-key": key})
    assert await places_of(plane, key.encode()) == []


async def records(plane: ControlPlane) -> set[bytes]:
    async with plane.database.reading() as tx:
        return set(await tx.all(bytes, "select name from idempotency_records"))


async def test_a_record_moved_to_another_place_does_not_open(
    person: Person, stranger: Person, plane: ControlPlane
):
    """Who can write to the database cannot have one tenant's answer replayed to another."""
    body, header = {"scopes": ["sites:read"]}, {"idempotency-key": str(uuid4())}
    before = await records(plane)
    mine = await person.session.post(KEYS, json=body, headers=header)
    (source,) = await records(plane) - before
    await stranger.session.post(KEYS, json=body, headers=header)
    (target,) = await records(plane) - before - {source}
    async with plane.database.transaction() as tx:
        await tx.run(
            "update idempotency_records set answer = (select answer from idempotency_records where name = $1)"
            " where name = $2",
            source,
            target,
        )
    answer = await stranger.session.post(KEYS, json=body, headers=header)
    assert (answer.status_code, code_of(answer)) == (500, "internal")
    assert mine.json()["data"]["secret"] not in answer.text


async def record_mint(client: Client, *scopes: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """The body, the header and the secret of a request that a replay would answer."""
    body, header = {"scopes": list(scopes)}, {"idempotency-key": str(uuid4())}
    made = await client.post(KEYS, json=body, headers=header)
    assert made.status_code == 201
    return body, header, made.json()["data"]["secret"]


@pytest.mark.parametrize("held", [["keys:write"], ["keys:write", "sites:*"], ["*", "keys:write"]])
async def test_a_narrower_key_gets_no_replay_of_a_mint_beyond_it(person: Person, held: list[str]):
    body, header, secret = await record_mint(person.session, "*", "exec:raw")
    narrower = await person.key(*held)
    refused = await narrower.post(KEYS, json=body, headers=header)
    assert refused.status_code in (403, 409)
    assert secret not in refused.text


async def test_a_narrower_key_gets_no_replay_of_a_roll_beyond_it(person: Person):
    """A roll has no body, so its Idempotency-Key is all there is to guess."""
    broad = (await person.session.post(KEYS, json={"scopes": ["*"]})).json()["data"]
    header = {"idempotency-key": "1"}
    rolled = await person.session.post(f"{KEYS}/{broad['id']}/roll", headers=header)
    narrower = await person.key("keys:write")
    refused = await narrower.post(f"{KEYS}/{broad['id']}/roll", headers=header)
    assert refused.status_code in (403, 409)
    assert rolled.json()["data"]["secret"] not in refused.text


async def test_a_key_without_the_scope_gets_no_replay_at_all(person: Person):
    body, header, secret = await record_mint(person.session, "sites:read")
    for weak in (await person.key("keys:read"), await person.key("*")):
        refused = await weak.post(KEYS, json=body, headers=header)
        assert (refused.status_code, code_of(refused)) == (403, "scope.insufficient")
        assert secret not in refused.text


async def test_a_pinned_key_gets_no_replay_of_an_unpinned_one(person: Person, pinned):
    body, header, secret = await record_mint(person.session, "sites:read")
    here = await pinned(person, ("site", new_id("site")))
    refused = await here.post(KEYS, json=body, headers=header)
    assert code_of(refused) == "idempotency.key_reused"
    assert secret not in refused.text


async def test_a_key_with_another_pin_gets_no_replay(person: Person, pinned):
    here, there = [await pinned(person, ("site", new_id("site"))) for _ in range(2)]
    body, header, secret = await record_mint(here, "sites:read")
    refused = await there.post(KEYS, json=body, headers=header)
    assert refused.status_code == 409
    assert secret not in refused.text


async def test_a_test_key_gets_no_replay_of_a_live_one(person: Person):
    body, header, secret = await record_mint(person.session, "sites:read")
    refused = await (await person.key(mode="test")).post(KEYS, json=body, headers=header)
    assert code_of(refused) == "idempotency.key_reused"
    assert secret not in refused.text


async def test_a_key_bound_to_addresses_gets_no_replay_of_one_that_is_not(person: Person, from_address):
    """The key it would have minted itself carries its allowlist; the recorded one does not."""
    body, header, secret = await record_mint(person.session, "sites:read")
    bound = from_address("203.0.113.7", await person.secret(ip_allowlist=["203.0.113.7"]))
    refused = await bound.post(KEYS, json=body, headers=header)
    assert refused.status_code in (403, 409)
    assert secret not in refused.text


async def test_the_credential_that_asked_gets_its_replay_after_it_was_rolled(
    person: Person, anonymous: Client
):
    minted = (await person.session.post(KEYS, json={"scopes": ["keys:write"]})).json()["data"]
    body, header, secret = await record_mint(anonymous.as_(minted["secret"]), "keys:read")
    rolled = (await person.session.post(f"{KEYS}/{minted['id']}/roll")).json()["data"]
    again = await anonymous.as_(rolled["secret"]).post(KEYS, json=body, headers=header)
    assert (again.status_code, again.json()["data"]["secret"]) == (201, secret)
