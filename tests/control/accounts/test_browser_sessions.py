"""Sessions of browsers: a cookie that only pages of the API's own origin can use."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from stead.control.accounts import password_checks
from stead.control.app import ControlPlane
from stead.control.features import all_operations
from stead.control.http.browser_sessions import COOKIE
from stead.shared.ids import new_id
from tests import teams
from tests.client import code_of
from tests.patience import time_limit
from tests.people import PASSWORD, Person

OWN = {"sec-fetch-site": "same-origin", "origin": "https://stead.test"}
ELSEWHERE = [
    {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    {"sec-fetch-site": "same-site", "origin": "https://other.stead.test"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://stead.test"},
    {"sec-fetch-site": "cross-site"},
    {},
]


@pytest.fixture
async def browser(plane: ControlPlane) -> AsyncIterator[httpx.AsyncClient]:
    """In a network that nobody else uses."""
    address = f"2001:db8:{secrets.randbelow(65536):x}:{secrets.randbelow(65536):x}::1"
    transport = httpx.ASGITransport(plane, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://stead.test") as client:
        yield client


async def sign_in(browser: httpx.AsyncClient, person: Person) -> httpx.Response:
    body = {"email": person.account.email, "password": PASSWORD}
    response = await browser.post("/session", json=body, headers=OWN)
    assert response.status_code == 201, response.text
    return response


async def test_the_token_is_only_in_the_cookie(browser: httpx.AsyncClient, person: Person):
    response = await sign_in(browser, person)
    cookie = response.headers["set-cookie"]
    for wanted in (f"{COOKIE}=stead_session_", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"):
        assert wanted in cookie
    assert "stead_session_" not in response.text
    assert response.json()["data"]["account_id"] == person.id
    assert (await browser.get("/v1/account", headers=OWN)).json()["data"]["id"] == person.id
    made = await browser.post("/v1/teams", json={"name": "from a browser"}, headers=OWN)
    assert made.status_code == 201, made.text


@pytest.mark.parametrize("headers", ELSEWHERE)
async def test_a_page_elsewhere_cannot_use_it(
    browser: httpx.AsyncClient, person: Person, headers: dict[str, str]
):
    await sign_in(browser, person)
    refused = await browser.post("/v1/teams", json={"name": "forged"}, headers=headers)
    assert code_of(refused) == "auth.cross_site"
    gone = await browser.request("DELETE", "/session", headers=headers)
    assert code_of(gone) == "auth.cross_site"
    assert (await person.session.get("/v1/teams")).json()["data"] == []


async def test_a_form_cannot_use_it(browser: httpx.AsyncClient, person: Person):
    await sign_in(browser, person)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        headers = {**OWN, "content-type": kind}
        refused = await browser.post("/v1/teams", content=b'{"name": "a form"}', headers=headers)
        assert code_of(refused) == "auth.cross_site"


async def test_reading_from_elsewhere_is_refused_too(browser: httpx.AsyncClient, person: Person):
    await sign_in(browser, person)
    for headers in ELSEWHERE[:6]:
        assert code_of(await browser.get("/v1/account", headers=headers)) == "auth.cross_site"


async def test_another_credential_wins(browser: httpx.AsyncClient, person: Person):
    await sign_in(browser, person)
    key = await person.secret("teams:read")
    headers = {"authorization": f"Bearer {key}", "sec-fetch-site": "cross-site"}
    assert (await browser.get("/v1/teams", headers=headers)).status_code == 200
    assert code_of(await browser.get("/v1/account", headers=headers)) == "scope.insufficient"


async def test_only_sessions_are_cookies(browser: httpx.AsyncClient, person: Person):
    browser.cookies.set(COOKIE, await person.secret(), domain="stead.test")
    assert code_of(await browser.get("/v1/account", headers=OWN)) == "auth.malformed"
    browser.cookies.clear()
    assert code_of(await browser.get("/v1/account", headers=OWN)) == "auth.missing"


@pytest.mark.parametrize("other", ["a=b c", "x", 'consent={"x":1}', "=", "a\x80=b", "__Host-stead2=no", ""])
async def test_other_cookies_do_not_sign_anybody_out(browser: httpx.AsyncClient, person: Person, other: str):
    """A page of a sibling domain can set them, with what it likes."""
    own = (await sign_in(browser, person)).headers["set-cookie"].partition(";")[0]
    browser.cookies.clear()
    for cookie in (f"{other}; {own}", f"{own}; {other}", f"{other};{own};{other}"):
        headers = [*OWN.items(), ("cookie", cookie)]
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        assert (await browser.get("/v1/account", headers=encoded)).json()["data"]["id"] == person.id
    twice = await browser.get("/v1/account", headers={**OWN, "cookie": f"{own}; {COOKIE}=another"})
    assert code_of(twice) == "auth.missing"


async def test_signing_in_again_ends_the_session_before(browser: httpx.AsyncClient, person: Person):
    before = (await sign_in(browser, person)).headers["set-cookie"].partition(";")[0]
    await sign_in(browser, person)
    assert (await browser.get("/v1/account", headers=OWN)).status_code == 200
    browser.cookies.clear()
    assert code_of(await browser.get("/v1/account", headers={**OWN, "cookie": before})) == "auth.revoked"


async def test_a_refusal_says_when_to_try_again(browser: httpx.AsyncClient, person: Person):
    body = {"email": person.account.email, "password": "wrong"}
    for _ in range(6):
        refused = await browser.post("/session", json=body, headers=OWN)
    assert (refused.status_code, code_of(refused)) == (429, "rate_limit.exceeded")
    assert int(refused.headers["retry-after"]) > 0
    assert refused.json()["error"]["doc_url"]


async def test_signing_out_ends_the_session(browser: httpx.AsyncClient, person: Person):
    token = (await sign_in(browser, person)).headers["set-cookie"].partition(";")[0]
    gone = await browser.request("DELETE", "/session", headers=OWN)
    assert gone.status_code == 204
    assert "Max-Age=0" in gone.headers["set-cookie"]
    kept = await browser.get("/v1/account", headers={**OWN, "cookie": token})
    assert code_of(kept) == "auth.revoked"


async def test_some_things_need_a_recent_sign_in(
    plane: ControlPlane, browser: httpx.AsyncClient, person: Person
):
    session = (await sign_in(browser, person)).json()["data"]["id"]
    new = {"scopes": ["sites:read"]}
    assert (await browser.post("/v1/api-keys", json=new, headers=OWN)).status_code == 201
    async with plane.database.transaction() as tx:
        await tx.run(
            "update sessions set created_at = $1 where id = $2", tx.now - timedelta(minutes=11), session
        )
    plane.authenticator.clear_cache()
    assert code_of(await browser.post("/v1/api-keys", json=new, headers=OWN)) == "auth.sign_in_again"
    assert (await browser.get("/v1/api-keys", headers=OWN)).status_code == 200
    await sign_in(browser, person)
    assert (await browser.post("/v1/api-keys", json=new, headers=OWN)).status_code == 201


EXEMPT = {
    "api_keys.revoke": "takes access away, which must not wait",
    "api_keys.update": "can only narrow a key",
    "device_authorizations.deny": "takes nothing away",
    "sites.magic_link": "one use within a minute; opens what the session can change anyway",
    "environments.refresh": "content of an environment that is not production",
    "environments.reset": "content of an environment that is not production",
    **dict.fromkeys(
        [
            f"{id_}{place}"
            for id_ in ("components.delete", "cms_users.delete", "cron.delete", "database.execute")
            for place in ("", "_in_environment")
        ],
        "daily work in a site, which backups restore",
    ),
}


def test_what_is_lasting_needs_a_recent_sign_in():
    """Credentials, and what is lost for good."""
    for operation in all_operations():
        scopes = set(operation.requires.scopes)
        gives_access = operation.method != "GET" and scopes & {"keys:write", "credentials:write"}
        if gives_access or operation.destructive == "irreversible":
            assert operation.recent_sign_in != (operation.id in EXEMPT), operation.id


@pytest.mark.parametrize(("method", "path"), [("PUT", "ssh-keys"), ("POST", "admin-password/reset")])
async def test_an_open_browser_adds_no_lasting_access(
    plane: ControlPlane, browser: httpx.AsyncClient, person: Person, method: str, path: str
):
    await sign_in(browser, person)
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        old = tx.now - timedelta(minutes=11)
        await tx.run("update sessions set created_at = $1 where account_id = $2", old, person.id)
    plane.authenticator.clear_cache()
    refused = await browser.request(method, f"/v1/sites/{site}/{path}", json={"keys": []}, headers=OWN)
    assert code_of(refused) == "auth.sign_in_again"


async def test_programs_with_the_token_of_a_session_are_not_asked_again(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        await tx.run(
            "update sessions set created_at = $1 where account_id = $2",
            *(tx.now - timedelta(hours=2), person.id),
        )
    assert (await person.session.post("/v1/api-keys", json={"scopes": ["sites:read"]})).status_code == 201


async def test_wrong_passwords_are_refused(browser: httpx.AsyncClient, person: Person):
    body = {"email": person.account.email, "password": "wrong"}
    refused = await browser.post("/session", json=body, headers=OWN)
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers
    assert (
        await browser.post("/session", content=b"{", headers={**OWN, "content-type": "application/json"})
    ).status_code == 400


async def test_many_who_sign_in_at_once_leave_connections_to_others(
    plane: ControlPlane, person: Person, monkeypatch: pytest.MonkeyPatch
):
    """Passwords are checked slowly."""
    slow, waiting = asyncio.Event(), asyncio.Semaphore(0)

    async def verify_slowly(*_: object) -> bool:
        waiting.release()
        await slow.wait()
        return False

    monkeypatch.setattr(password_checks, "verify_password", verify_slowly)

    async def guess(number: int) -> int:
        transport = httpx.ASGITransport(plane, client=(f"2001:db8:{number:x}::1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="https://stead.test") as client:
            body = {"email": f"{new_id('person')}@example.com", "password": "a guess"}
            return (await client.post("/session", json=body, headers=OWN)).status_code

    guesses = [asyncio.create_task(guess(number)) for number in range(40)]
    try:
        async with time_limit(30):
            for _ in guesses:
                await waiting.acquire()
        answers = await asyncio.gather(*(person.session.get("/v1/account") for _ in range(8)))
        assert {answer.status_code for answer in answers} == {200}
    finally:
        slow.set()
    assert set(await asyncio.gather(*guesses)) == {401}
