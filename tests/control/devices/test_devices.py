"""Signing in on a device without a browser: who gets a key, when, and what for."""

import re
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.devices import service
from stead.control.devices.rules import normalize_user_code
from stead.control.http.client_address import network_of, wide_network_of
from tests.client import Client, code_of
from tests.people import PASSWORD, Person

START, TOKEN = "/v1/device-authorizations", "/v1/device-authorizations/token"


@pytest.fixture
async def device(plane: ControlPlane) -> AsyncIterator[Client]:
    """In a network that nobody else uses, so that no test slows down another."""
    address = f"2001:db8:{secrets.randbelow(65536):x}:{secrets.randbelow(65536):x}::1"
    async with Client(
        transport=httpx.ASGITransport(plane, client=(address, 1)), base_url="http://stead.test"
    ) as client:
        yield client


@pytest.fixture
async def browser(device: Client) -> AsyncIterator[httpx.AsyncClient]:
    """In the same network. Pages are not described as operations are."""
    async with httpx.AsyncClient(transport=device._transport, base_url=device.base_url) as client:
        yield client


async def start(device: Client, **wanted: Any) -> dict[str, Any]:
    response = await device.post(START, json={"machine_name": "ada on laptop", **wanted})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()["data"]
    return found


async def collect(device: Client, started: dict[str, Any]) -> httpx.Response:
    return await device.post(TOKEN, json={"device_code": started["device_code"]})


async def test_a_device_gets_a_key_after_a_person_has_approved(device: Client, person: Person):
    started = await start(device, scopes=["sites:read", "account:read"])
    assert re.fullmatch(r"[B-Z]{4}-[B-Z]{4}", started["user_code"])
    assert started["verification_uri_complete"].endswith(f"/device?code={started['user_code']}")
    assert code_of(await collect(device, started)) == "device.pending"

    typed = started["user_code"].lower().replace("-", " ")
    shown = (await person.session.get(f"{START}/{typed}")).json()["data"]
    assert (shown["machine_name"], shown["scopes"]) == ("ada on laptop", ["sites:read", "account:read"])
    assert (await person.session.post(f"{START}/{typed}/approve")).status_code == 204

    token = (await collect(device, started)).json()["data"]
    assert (token["account_id"], token["email"]) == (person.id, person.account.email)
    key = device.as_(token["secret"])
    assert (await key.get("/v1/account")).json()["data"]["id"] == person.id
    assert code_of(await key.get("/v1/teams")) == "scope.insufficient"
    [listed] = (await person.session.get("/v1/api-keys")).json()["data"]
    assert (listed["id"], listed["name"]) == (token["key_id"], "ada on laptop")


async def test_a_lost_response_can_be_collected_again_for_a_minute(
    plane: ControlPlane, device: Client, person: Person
):
    started = await start(device)
    await person.session.post(f"{START}/{started['user_code']}/approve")
    first = (await collect(device, started)).json()["data"]
    second = (await collect(device, started)).json()["data"]
    assert (await device.as_(second["secret"]).get("/v1/account")).status_code == 200
    assert code_of(await device.as_(first["secret"]).get("/v1/account")) == "auth.revoked"
    async with plane.database.transaction() as tx:
        await tx.run(
            "update device_authorizations set redeemed_at = $1 where user_code = $2",
            *(tx.now - timedelta(minutes=2), started["user_code"]),
        )
    assert code_of(await collect(device, started)) == "device.expired"
    assert (await device.as_(second["secret"]).get("/v1/account")).status_code == 200


async def test_a_denied_device_gets_nothing(device: Client, person: Person):
    started = await start(device)
    assert (await person.session.post(f"{START}/{started['user_code']}/deny")).status_code == 204
    assert code_of(await collect(device, started)) == "device.denied"
    assert code_of(await person.session.post(f"{START}/{started['user_code']}/approve")) == "device.not_found"
    assert (await person.session.get("/v1/api-keys")).json()["data"] == []


async def test_a_decision_cannot_be_changed_or_seen_by_others(
    device: Client, person: Person, stranger: Person
):
    started = await start(device)
    code = started["user_code"]
    await person.session.post(f"{START}/{code}/approve")
    assert (await person.session.post(f"{START}/{code}/approve")).status_code == 204, "a repetition"
    for path in (f"{START}/{code}/approve", f"{START}/{code}/deny"):
        assert code_of(await stranger.session.post(path)) == "device.not_found"
    assert code_of(await stranger.session.get(f"{START}/{code}")) == "device.not_found"
    token = (await collect(device, started)).json()["data"]
    assert token["account_id"] == person.id


async def test_a_key_cannot_let_devices_in(device: Client, person: Person):
    started = await start(device)
    key = await person.key()
    assert code_of(await key.post(f"{START}/{started['user_code']}/approve")) == "device.session_required"


async def test_after_ten_minutes_nothing_is_left(plane: ControlPlane, device: Client, person: Person):
    started = await start(device)
    async with plane.database.transaction() as tx:
        await tx.run(
            "update device_authorizations set expires_at = $1 where user_code = $2",
            *(tx.now, started["user_code"]),
        )
    assert code_of(await person.session.get(f"{START}/{started['user_code']}")) == "device.not_found"
    assert code_of(await collect(device, started)) == "device.expired"
    async with plane.database.transaction() as tx:
        assert await service.delete_expired(tx) >= 1
        left = "select count(*) from device_authorizations where user_code = $1"
        assert await tx.value(left, started["user_code"]) == 0


async def test_a_closed_account_lets_nobody_in(plane: ControlPlane, device: Client, person: Person):
    started = await start(device)
    await person.session.post(f"{START}/{started['user_code']}/approve")
    async with plane.database.transaction() as tx:
        await tx.run("update accounts set suspended_at = $1 where id = $2", tx.now, person.id)
    assert code_of(await collect(device, started)) == "device.denied"


async def test_devices_are_throttled(device: Client):
    started = await start(device)
    answers = [code_of(await collect(device, started)) for _ in range(25)]
    assert answers[0] == "device.pending"
    assert answers[-1] == "rate_limit.exceeded"
    starts = [await device.post(START, json={"machine_name": "flood"}) for _ in range(12)]
    assert code_of(starts[-1]) == "rate_limit.exceeded"


async def test_wrong_wishes_are_refused(device: Client):
    for wanted in ({"machine_name": "<b>"}, {"machine_name": ""}, {"scopes": ["sites:eat"]}):
        response = await device.post(START, json={"machine_name": "a laptop", **wanted})
        assert response.status_code == 400, response.text


def test_codes_are_read_as_people_type_them():
    for typed in ("wdjb-mjht", "WDJBMJHT", " wdjb mjht\n", "W.D.J.B-M-J-H-T"):
        assert normalize_user_code(typed) == "WDJB-MJHT"


async def open_page(
    browser: httpx.AsyncClient, person: Person, code: str, password: str = PASSWORD
) -> httpx.Response:
    form = {"code": code, "email": person.account.email, "password": password}
    return await browser.post("/device", data=form)


def ticket_in(page: httpx.Response) -> str:
    found = re.search(r'name="ticket" value="([^"]+)"', page.text)
    assert found is not None, page.text
    return found[1]


async def test_people_approve_on_the_page(
    plane: ControlPlane, device: Client, browser: httpx.AsyncClient, person: Person
):
    started = await start(device)
    first = await browser.get("/device", params={"code": started["user_code"]})
    assert f'value="{started["user_code"]}"' in first.text
    assert "default-src 'none'" in first.headers["content-security-policy"]
    assert "<script" not in first.text
    second = await open_page(browser, person, started["user_code"])
    assert second.status_code == 200
    for shown in (started["user_code"], "ada on laptop", person.account.email):
        assert shown in second.text, "people compare"
    third = await browser.post("/device", data={"ticket": ticket_in(second), "decision": "approve"})
    assert "is signed in" in third.text
    assert (await collect(device, started)).json()["data"]["account_id"] == person.id
    async with plane.database.transaction() as tx:
        sql = "select count(*) from audit_events where event = $1 and actor_user_id = $2"
        assert await tx.value(sql, "device_authorization_approve", person.id) == 1


async def test_people_deny_on_the_page(device: Client, browser: httpx.AsyncClient, person: Person):
    started = await start(device)
    ticket = ticket_in(await open_page(browser, person, started["user_code"]))
    await browser.post("/device", data={"ticket": ticket, "decision": "deny"})
    assert code_of(await collect(device, started)) == "device.denied"


async def test_the_page_lets_in_only_who_knows_the_password_and_a_code(
    device: Client, browser: httpx.AsyncClient, person: Person
):
    started = await start(device)
    assert (await open_page(browser, person, started["user_code"], "wrong")).status_code == 403
    assert (await open_page(browser, person, "BBBB-BBBB")).status_code == 403
    ticket = ticket_in(await open_page(browser, person, started["user_code"]))
    other = "x" if ticket[20] != "x" else "y"
    for wrong in (ticket[:-4], "", "AAAA", f"{ticket[:20]}{other}{ticket[21:]}"):
        answer = await browser.post("/device", data={"ticket": wrong, "decision": "approve"})
        assert "is signed in" not in answer.text
    assert code_of(await collect(device, started)) == "device.pending"


async def test_what_a_device_says_is_not_markup(device: Client, browser: httpx.AsyncClient, person: Person):
    started = await start(device)
    page = await browser.get("/device", params={"code": '"><script>alert(1)</script>'})
    assert "<script" not in page.text
    assert (await open_page(browser, person, started["user_code"])).status_code == 200


async def change_password(person: Person) -> None:
    change = {"current_password": PASSWORD, "new_password": "quite another password"}
    assert (await person.session.patch("/v1/account", json=change)).status_code == 204


async def test_a_ticket_ends_with_the_password(device: Client, browser: httpx.AsyncClient, person: Person):
    started = await start(device)
    ticket = ticket_in(await open_page(browser, person, started["user_code"]))
    await change_password(person)
    refused = await browser.post("/device", data={"ticket": ticket, "decision": "approve"})
    assert (refused.status_code, "took too long" in refused.text) == (403, True)
    assert code_of(await collect(device, started)) == "device.pending"


async def test_an_approval_ends_with_the_password(device: Client, person: Person):
    started = await start(device)
    assert (await person.session.post(f"{START}/{started['user_code']}/approve")).status_code == 204
    await change_password(person)
    assert code_of(await collect(device, started)) == "device.denied"


async def test_a_password_on_the_page_is_in_the_audit_trail(
    plane: ControlPlane, device: Client, browser: httpx.AsyncClient, person: Person
):
    await open_page(browser, person, (await start(device))["user_code"])
    async with plane.database.reading() as tx:
        sql = "select count(*) from audit_events where event = $1 and actor_user_id = $2"
        assert await tx.value(sql, "device_authorization_sign_in", person.id) == 1


def test_many_networks_of_one_customer_do_not_take_what_all_share():
    addresses = [IPv6Address(f"2001:db8:7:{number:x}::1") for number in range(1000)]
    assert len({network_of(address) for address in addresses}) == 1000
    assert {wide_network_of(address) for address in addresses} == {"2001:db8:7::/48"}
    assert wide_network_of(IPv4Address("192.0.2.77")) == "192.0.2.0/24"
    assert service.STARTS_PER_MINUTE_AND_PROVIDER * 50 <= service.STARTS_PER_MINUTE
