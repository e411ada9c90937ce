"""What a pinned key or a test key can see and make: only its like."""

from typing import Any

import pytest

from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"


async def mint(client: Client, *scopes: str, **wanted: object) -> dict[str, Any]:
    minted = await client.post(KEYS, json={"scopes": list(scopes or ("sites:read",)), **wanted})
    assert minted.status_code == 201, minted.text
    return dict(minted.json()["data"])


async def listed(client: Client) -> set[str]:
    return {key["id"] for key in (await client.get(KEYS, params={"limit": 100})).json()["data"]}


async def assert_absent(client: Client, key: dict[str, Any]) -> None:
    """To this client there is no such key, whatever it tries."""
    address = f"{KEYS}/{key['id']}"
    for attempt in (
        await client.get(address),
        await client.patch(address, json={"name": "seen"}),
        await client.delete(address),
        await client.post(f"{address}/roll"),
    ):
        assert (attempt.status_code, code_of(attempt)) == (404, "key.not_found")


async def test_a_pinned_key_sees_only_keys_with_its_pin(person: Person, pinned):
    site, other = ("site", new_id("site")), ("site", new_id("site"))
    free = await mint(person.session)
    here, elsewhere = await pinned(person, site), await pinned(person, other)
    (elsewhere_id,) = await listed(elsewhere)
    (own,) = await listed(here)
    assert own != elsewhere_id
    await assert_absent(here, free)
    await assert_absent(here, {"id": elsewhere_id})
    assert {own, elsewhere_id, free["id"]} <= await listed(person.session)


async def test_a_pin_of_another_type_with_the_same_id_is_another_pin(person: Person, pinned):
    id_ = new_id("site")
    one, other = await pinned(person, ("site", id_)), await pinned(person, ("environment", id_))
    assert not await listed(one) & await listed(other)


async def test_a_pinned_key_mints_keys_that_carry_its_pin(person: Person, pinned, anonymous: Client):
    site = ("site", new_id("site"))
    here = await pinned(person, site)
    pin = {"type": "site", "id": site[1]}
    for sent in ({}, {"resource": None}, {"resource": pin}):
        child = await mint(here, "keys:write", **sent)
        assert child["resource"] == pin
        grandchild = await mint(anonymous.as_(child["secret"]), "keys:read")
        assert grandchild["resource"] == pin
        assert (await here.get(f"{KEYS}/{grandchild['id']}")).json()["data"]["resource"] == pin
    listing = (await here.get(KEYS)).json()["data"]
    assert all(key["resource"] == pin for key in listing)


@pytest.mark.parametrize("type_", ["site", "environment", "project", "team"])
async def test_a_pinned_key_cannot_pin_elsewhere(person: Person, pinned, type_: str):
    here = await pinned(person, ("site", new_id("site")))
    before = await listed(here)
    refused = await here.post(
        KEYS, json={"scopes": ["sites:read"], "resource": {"type": type_, "id": new_id(type_[:4])}}
    )
    assert (refused.status_code, code_of(refused)) == (404, "resource.not_found")
    assert await listed(here) == before


async def test_the_same_pin_in_another_account_shows_nothing(person: Person, stranger: Person, pinned):
    site = ("site", new_id("site"))
    mine, theirs = await pinned(person, site), await pinned(stranger, site)
    assert not await listed(mine) & await listed(theirs)
    (their_key,) = await listed(theirs)
    await assert_absent(mine, {"id": their_key})


async def test_a_pinned_key_can_manage_the_keys_of_its_pin(person: Person, pinned, anonymous: Client):
    here = await pinned(person, ("site", new_id("site")))
    child = await mint(here, "account:read")
    assert (await here.patch(f"{KEYS}/{child['id']}", json={"name": "x"})).status_code == 200
    rolled = (await here.post(f"{KEYS}/{child['id']}/roll")).json()["data"]
    assert (await here.delete(f"{KEYS}/{child['id']}")).status_code == 204
    assert code_of(await anonymous.as_(rolled["secret"]).get("/v1/account")) == "auth.revoked"


async def test_a_test_key_is_recognised_by_its_prefix(person: Person, anonymous: Client):
    key = await mint(person.session, "account:read", mode="test")
    assert key["prefix"] == "stead_test"
    assert key["secret"].startswith("stead_test_")
    assert (await anonymous.as_(key["secret"]).get("/v1/account")).status_code == 200
    rolled = (await person.session.post(f"{KEYS}/{key['id']}/roll")).json()["data"]
    assert rolled["prefix"] == "stead_test"
    assert rolled["secret"].startswith("stead_test_")


async def test_a_test_key_mints_only_test_keys(person: Person):
    tester = await person.key("keys:write", mode="test")
    for sent in ({}, {"mode": "test"}, {"mode": None}):
        assert (await mint(tester, "keys:read", **sent))["prefix"] == "stead_test"
    before = await listed(person.session)
    refused = await tester.post(KEYS, json={"scopes": ["keys:read"], "mode": "live"})
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == "mode"
    assert await listed(person.session) == before


async def test_a_test_key_sees_only_test_keys(person: Person):
    live = await mint(person.session)
    test = await mint(person.session, mode="test")
    tester = await person.key(mode="test")
    assert test["id"] in await listed(tester)
    assert live["id"] not in await listed(tester)
    await assert_absent(tester, live)
    assert (await tester.get(f"{KEYS}/{test['id']}")).status_code == 200
    assert {live["id"], test["id"]} <= await listed(person.session)


async def test_a_secret_does_not_change_its_mode_by_its_prefix(person: Person, anonymous: Client):
    secret = await person.secret("account:read", mode="test")
    forged = secret.replace("stead_test_", "stead_live_")
    assert code_of(await anonymous.as_(forged).get("/v1/account")) == "auth.malformed"


async def test_a_pinned_test_key_is_narrowed_by_both(person: Person, pinned):
    site = ("site", new_id("site"))
    here = await pinned(person, site)
    tester = await pinned(person, site, mode="test")
    live_child = await mint(here)
    test_child = await mint(tester)
    assert (test_child["prefix"], test_child["resource"]["id"]) == ("stead_test", site[1])
    await assert_absent(tester, live_child)
    assert test_child["id"] in await listed(here)
