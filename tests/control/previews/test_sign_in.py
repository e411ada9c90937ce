"""The sign-in page of protected previews: who gets a token, and for what."""

import base64
import secrets
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from stead.control.app import ControlPlane
from stead.protocol import edge_records
from stead.protocol.edge_records import EnvironmentRecord, ProtectionRecord
from tests.client import code_of
from tests.control.environments.conftest import REGION, HostedSite, create_hosted_site
from tests.people import PASSWORD, Person
from tests.teams import insert_domain

PAGE = "/preview-access"
TEAM = {"security": {"preview_protection": "team"}}


@pytest.fixture
async def visitor(plane: ControlPlane) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in a network that nobody else uses, so that no test slows down another."""
    address = f"2001:db8:{secrets.randbelow(65536):x}:{secrets.randbelow(65536):x}::1"
    transport = httpx.ASGITransport(plane, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://stead.test") as client:
        yield client


@pytest.fixture
async def site(plane: ControlPlane, person: Person) -> HostedSite:
    return await create_hosted_site(plane, person)


async def _configure(site: HostedSite, path: str, body: dict[str, Any]) -> None:
    response = await site.client.patch(f"/v1/sites/{site.id}{path}", json=body)
    assert response.status_code == 202, response.text
    await site.driver.run_job(response.json()["data"]["id"])


def _protection(site: HostedSite, env: str) -> ProtectionRecord | None:
    record = site.driver.announced[edge_records.environment_key(REGION, env)]
    assert isinstance(record, EnvironmentRecord)
    return record.protection


async def _submit(
    client: httpx.AsyncClient, host: str, email: str, password: str = PASSWORD, to: str = "/page?x=1"
) -> httpx.Response:
    query = {"host": f"{host}:8443", "scheme": "https", "to": to}
    form = {"email": email, "password": password}
    return await client.post(PAGE, params=query, data=form)


async def test_somebody_who_can_see_the_site_gets_a_token_for_one_host(
    site: HostedSite, person: Person, visitor: httpx.AsyncClient
) -> None:
    staging = await site.insert_environment()
    host = str(await site.column(staging, "subdomain"))
    await _configure(site, "/config", TEAM)
    protection = _protection(site, staging)
    assert protection is not None
    assert (protection.mode, protection.everywhere) == ("team", True)
    assert protection.sign_in.endswith(PAGE)

    answer = await _submit(visitor, host, person.account.email)
    assert answer.status_code == 303, answer.text
    where = urlsplit(answer.headers["location"])
    assert (where.scheme, where.netloc, where.path) == ("https", f"{host}:8443", "/_stead/access")
    query = parse_qs(where.query)
    assert query["to"] == ["/page?x=1"]
    text, signature = (base64.urlsafe_b64decode(part + "==") for part in query["token"][0].split("."))
    assert text.decode().split("\n")[:3] == ["stead access", staging, host]
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(protection.public_key))
    public.verify(signature, text)
    with pytest.raises(InvalidSignature):
        public.verify(signature, text + b"0")

    audit = await person.session.get("/v1/account/audit?event=preview_sign_in")
    assert [each["meta"]["host"] for each in audit.json()["data"]] == [host]


async def test_a_name_below_a_wildcard_is_that_of_its_environment_unless_it_has_its_own(
    site: HostedSite, person: Person, visitor: httpx.AsyncClient
) -> None:
    wild, own = await site.insert_environment(), await site.insert_environment()
    base = f"d{secrets.token_hex(6)}.example.com"
    async with person.transaction() as tx:
        await insert_domain(tx, wild, f"*.{base}")
        await insert_domain(tx, own, f"own.{base}")
    await _configure(site, "/config", TEAM)
    for host, env in ((f"any.{base}", wild), (f"own.{base}", own)):
        answer = await _submit(visitor, host, person.account.email)
        token = parse_qs(urlsplit(answer.headers["location"]).query)["token"][0].split(".")[0]
        assert base64.urlsafe_b64decode(token + "==").decode().split("\n")[1:3] == [env, host]
    for host in (base, f"a.b.{base}"):
        assert "location" not in (await _submit(visitor, host, person.account.email)).headers


async def test_a_wrong_password_and_another_account_get_no_token(
    site: HostedSite, person: Person, stranger: Person, visitor: httpx.AsyncClient
) -> None:
    staging = await site.insert_environment()
    host = str(await site.column(staging, "subdomain"))
    await _configure(site, "/config", TEAM)
    for email, password in (
        (person.account.email, "a wrong password"),
        (stranger.account.email, PASSWORD),
        ("nobody@example.com", PASSWORD),
    ):
        answer = await _submit(visitor, host, email, password)
        assert answer.status_code == 403
        assert "location" not in answer.headers
    unknown = await _submit(visitor, "unknown.preview.example", stranger.account.email)
    foreign = await _submit(visitor, host, stranger.account.email)
    assert unknown.text.replace("unknown.preview.example", host) == foreign.text


async def test_production_is_never_protected_but_its_deployments_are(site: HostedSite) -> None:
    await _configure(
        site, "/config", {"security": {"preview_protection": "password", "preview_password": "x" * 8}}
    )
    production = str((await site.read("production"))["id"])
    protection = _protection(site, production)
    assert protection is not None
    assert (protection.mode, protection.everywhere) == ("password", False)
    assert (protection.iterations, len(protection.digest)) == (20_000, 64)


async def test_the_password_is_stored_as_a_digest_and_never_returned(site: HostedSite) -> None:
    await _configure(
        site, "/config", {"security": {"preview_protection": "password", "preview_password": "my secret"}}
    )
    stored = await site.driver.fetch_value(
        "select settings::text from configurations where subject = $1", site.id
    )
    assert "my secret" not in stored
    params = await site.driver.fetch_value(
        "select string_agg(params::text, '') from jobs where site_id = $1", site.id
    )
    assert "my secret" not in params
    shown = (await site.client.get(f"/v1/sites/{site.id}/config")).json()["data"]["security"]
    assert (shown["preview_protection"], shown["preview_password_set"]) == ("password", True)
    assert "digest" not in str(shown)
    environment = (await site.client.get(f"/v1/sites/{site.id}/environments/production/config")).json()[
        "data"
    ]
    assert environment["effective"]["security"]["preview_password_set"] is True
    assert environment["override"] == {}


async def test_protection_by_password_needs_a_password(site: HostedSite) -> None:
    path = f"/v1/sites/{site.id}/config"
    refused = await site.client.patch(path, json={"security": {"preview_protection": "password"}})
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == "security.preview_password"
    await _configure(
        site, "/config", {"security": {"preview_protection": "password", "preview_password": "x" * 8}}
    )
    refused = await site.client.patch(path, json={"security": {"preview_password": None}})
    assert refused.status_code == 400
    await _configure(site, "/config", {"security": {"preview_protection": None, "preview_password": None}})
    assert _protection(site, str((await site.read("production"))["id"])) is None


async def test_an_environment_can_be_open_although_its_site_is_protected(
    site: HostedSite, person: Person, visitor: httpx.AsyncClient
) -> None:
    staging = await site.insert_environment()
    host = str(await site.column(staging, "subdomain"))
    await _configure(site, "/config", TEAM)
    await _configure(site, f"/environments/{staging}/config", {"security": {"preview_protection": "none"}})
    assert _protection(site, staging) is None
    answer = await _submit(visitor, host, person.account.email)
    assert (answer.status_code, answer.headers["location"]) == (303, f"https://{host}:8443/page?x=1")


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"host": "a.example", "scheme": "javascript"},
        {"host": "a.example/x", "scheme": "https"},
        {"host": "a.example@evil.example", "scheme": "https"},
        {"host": "a.example", "scheme": "https", "to": "//evil.example"},
        {"host": "a.example", "scheme": "https", "to": "https://evil.example"},
    ],
)
async def test_a_link_that_no_edge_has_made_is_refused(
    visitor: httpx.AsyncClient, query: dict[str, str]
) -> None:
    assert (await visitor.get(PAGE, params=query)).status_code == 404
    assert (await visitor.post(PAGE, params=query, data={"email": "a@b.c"})).status_code == 404


async def test_the_form_is_limited(visitor: httpx.AsyncClient) -> None:
    query = {"host": "a.example", "scheme": "https"}
    for content in (b"x" * 10_000, b"\xff", b"email=" + b"x" * 300, b"a=1&" * 20):
        answer = await visitor.post(PAGE, params=query, content=content)
        assert answer.status_code == 400, content[:10]
    shown = await visitor.get(PAGE, params=query)
    assert "form-action 'self' https://a.example;" in shown.headers["content-security-policy"]
