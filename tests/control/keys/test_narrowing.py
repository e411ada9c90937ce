"""A key never exceeds what minted it, and its scopes only ever shrink."""

import asyncio
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.shared.scopes import ISOLATED
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"


async def mint(client: Client, *scopes: str) -> dict[str, Any]:
    minted = await client.post(KEYS, json={"scopes": list(scopes)})
    assert minted.status_code == 201, minted.text
    return dict(minted.json()["data"])


def refused_for(response, scope: str) -> bool:
    return (
        response.status_code == 403
        and code_of(response) == "scope.insufficient"
        and scope in response.json()["error"]["message"]
    )


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (["sites:read"], "sites:write"),
        (["sites:read"], "sites:*"),
        (["sites:admin"], "*"),
        (["sites:*"], "sites.x:*"),
        (["*"], "exec:raw"),
        (["*"], "credentials:read"),
        (["credentials:read"], "credentials:write"),
        (["security:write"], "vulnerabilities:read"),
        (["cms.plugins:write"], "cms.themes:read"),
        (["cms.cli:exec"], "exec:raw"),
        (["account:write"], "account:admin"),
    ],
)
async def test_a_key_cannot_mint_above_itself(person: Person, held: list[str], wanted: str):
    minter = await person.key("keys:write", *held)
    refused = await minter.post(KEYS, json={"scopes": [held[0], wanted]})
    if wanted == "sites.x:*":
        assert code_of(refused) == "request.field_invalid"
    else:
        assert refused_for(refused, wanted)
    assert len((await person.session.get(KEYS)).json()["data"]) == 1


@pytest.mark.parametrize("scopes", [["*"], ["*", "keys:read"], ["*", "credentials:write", "exec:raw"]])
async def test_a_wildcard_does_not_grant_the_minting_of_keys(person: Person, scopes: list[str]):
    powerful = await person.key(*scopes)
    assert refused_for(await powerful.post(KEYS, json={"scopes": ["sites:read"]}), "keys:write")
    assert (await powerful.get(KEYS)).status_code == (200 if "keys:read" in scopes else 403)


async def test_each_isolated_scope_can_be_handed_down_only_by_who_holds_it(person: Person):
    for scope in sorted(ISOLATED - {"keys:read", "keys:write"}):
        without = await person.key("*", "keys:write", *(ISOLATED - {scope, "credentials:write"}))
        assert refused_for(await without.post(KEYS, json={"scopes": [scope]}), scope)
        holder = await person.key("keys:write", scope)
        assert (await mint(holder, scope))["scopes"] == [scope]


async def test_a_session_can_mint_everything_including_isolated_scopes(person: Person, anonymous: Client):
    minted = await mint(person.session, "*", *sorted(ISOLATED))
    again = await mint(anonymous.as_(minted["secret"]), "*", *sorted(ISOLATED))
    assert again["scopes"] == minted["scopes"]


async def test_power_only_falls_along_a_chain_of_minted_keys(person: Person, anonymous: Client):
    first = await mint(person.session, "keys:write", "sites:*")
    second = await mint(anonymous.as_(first["secret"]), "keys:write", "sites:write")
    grandchild = anonymous.as_(second["secret"])
    assert refused_for(await grandchild.post(KEYS, json={"scopes": ["sites:admin"]}), "sites:admin")
    assert refused_for(await grandchild.post(KEYS, json={"scopes": ["sites:*"]}), "sites:*")
    assert (await mint(grandchild, "sites:read", "keys:read"))["scopes"] == ["sites:read", "keys:read"]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (["sites:write", "tls:read"], ["sites:read"]),
        (["sites:admin"], ["sites:write", "sites:read"]),
        (["sites:*"], ["sites:admin"]),
        (["*"], ["sites:*", "account:read"]),
        (["*", "keys:write"], ["keys:read", "*"]),
        (["sites:read"], ["sites:read"]),
    ],
)
async def test_scopes_can_be_narrowed(person: Person, anonymous: Client, held: list[str], wanted: list[str]):
    key = await mint(person.session, "account:read", *held)
    await anonymous.as_(key["secret"]).get("/v1/account")
    changed = await person.session.patch(f"{KEYS}/{key['id']}", json={"scopes": wanted})
    assert changed.status_code == 200
    assert changed.json()["data"]["scopes"] == wanted
    assert (await person.session.get(f"{KEYS}/{key['id']}")).json()["data"]["scopes"] == wanted


async def test_narrowing_takes_effect_on_the_next_request(person: Person, anonymous: Client):
    key = await mint(person.session, "account:read", "sites:read")
    client = anonymous.as_(key["secret"])
    assert (await client.get("/v1/account")).status_code == 200
    await person.session.patch(f"{KEYS}/{key['id']}", json={"scopes": ["sites:read"]})
    assert refused_for(await client.get("/v1/account"), "account:read")


@pytest.mark.parametrize(
    ("held", "wanted", "beyond"),
    [
        (["sites:read"], ["sites:write"], "sites:write"),
        (["sites:read"], ["sites:read", "sites:*"], "sites:*"),
        (["sites:write"], ["sites:*"], "sites:*"),
        (["sites:*"], ["*"], "*"),
        (["*"], ["*", "keys:read"], "keys:read"),
        (["*"], ["exec:raw"], "exec:raw"),
        (["keys:read"], ["keys:write"], "keys:write"),
        (["security:*"], ["vulnerabilities:read"], "vulnerabilities:read"),
    ],
)
async def test_scopes_cannot_be_broadened(person: Person, held: list[str], wanted: list[str], beyond: str):
    """Not even by a session, which holds everything."""
    key = await mint(person.session, *held)
    assert refused_for(await person.session.patch(f"{KEYS}/{key['id']}", json={"scopes": wanted}), beyond)
    assert (await person.session.get(f"{KEYS}/{key['id']}")).json()["data"]["scopes"] == held


async def test_what_was_given_up_does_not_come_back(person: Person):
    key = await mint(person.session, "sites:write", "tls:read")
    address = f"{KEYS}/{key['id']}"
    assert (await person.session.patch(address, json={"scopes": ["sites:read"]})).status_code == 200
    for wanted in ("sites:write", "tls:read", "sites:*", "*"):
        assert refused_for(await person.session.patch(address, json={"scopes": [wanted]}), wanted)


async def test_a_key_cannot_broaden_itself(person: Person, anonymous: Client):
    key = await mint(person.session, "keys:write")
    itself = anonymous.as_(key["secret"])
    for wanted in (["keys:write", "sites:read"], ["*"], ["keys:write", "*"]):
        assert (await itself.patch(f"{KEYS}/{key['id']}", json={"scopes": wanted})).status_code == 403
    assert (await itself.get(f"{KEYS}/{key['id']}")).json()["data"]["scopes"] == ["keys:write"]


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": None},
        {"scopes": ["nope"]},
        {"expires_in_days": 300},
        {"ip_allowlist": []},
        {"resource": None},
        {"revoked_at": None},
        {"mode": "live"},
    ],
)
async def test_nothing_but_name_and_scopes_can_be_changed(person: Person, body: dict[str, Any]):
    key = await mint(person.session, "sites:read")
    refused = await person.session.patch(f"{KEYS}/{key['id']}", json=body)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")


async def test_a_name_can_be_changed_and_cleared(person: Person):
    key = await mint(person.session, "sites:read")
    for name in ("first", "", None):
        changed = await person.session.patch(f"{KEYS}/{key['id']}", json={"name": name})
        assert (changed.json()["data"]["name"], changed.json()["data"]["scopes"]) == (name, ["sites:read"])
    assert (await person.session.patch(f"{KEYS}/{key['id']}", json={})).json()["data"]["name"] is None


async def test_renaming_while_another_narrows_does_not_give_the_scopes_back(
    person: Person, plane: ControlPlane
):
    """Both requests have read the key when the first of them writes."""
    key = await mint(person.session, "sites:write")
    address = f"{KEYS}/{key['id']}"
    async with plane.database.transaction() as tx:
        await tx.value("select 1 from api_keys where id = $1 for update", key["id"])
        narrowing = asyncio.create_task(person.session.patch(address, json={"scopes": ["sites:read"]}))
        await asyncio.sleep(0.15)
        renaming = asyncio.create_task(person.session.patch(address, json={"name": "renamed"}))
        await asyncio.sleep(0.15)
    assert [(await narrowing).status_code, (await renaming).status_code] == [200, 200]
    left = (await person.session.get(address)).json()["data"]
    assert (left["scopes"], left["name"]) == (["sites:read"], "renamed")
