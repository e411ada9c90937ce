"""Minting, narrowing, rolling and revoking API keys, through the API."""

from datetime import datetime, timedelta

from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.people import Person


async def test_a_minted_key_works_and_its_secret_is_shown_once(person: Person, anonymous: Client):
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["account:read"], "name": "CI"})
    assert minted.status_code == 201
    key = minted.json()["data"]
    assert key["secret"].startswith("stead_live_")
    assert key["last4"] == key["secret"][-4:]
    account = (await anonymous.as_(key["secret"]).get("/v1/account")).json()["data"]
    assert (account["id"], account["scopes"]) == (person.id, ["account:read"])
    read = await person.session.get(f"/v1/api-keys/{key['id']}")
    assert "secret" not in read.json()["data"]
    assert key["secret"] not in (await person.session.get("/v1/api-keys")).text
