"""What the Python client promises beyond requests: errors, pages, raw responses, openness, webhooks."""

import asyncio
import base64
import time
from datetime import UTC, datetime
from operator import methodcaller
from pathlib import Path

import pytest

from stead.control.webhooks import signing
from stead_sdk import Stead, error_codes, errors, types, webhooks
from stead_sdk._addresses import Origin, proxy_for
from stead_sdk._urls import percent_encode, split_url
from tests.clients.callers import Caller
from tests.clients.fault_proxy import FaultProxy
from tests.clients.tls_server import answering, write_certificate
from tests.clients.tunnel_proxy import tunnel_proxy
from tests.people import Person

BODY = b'{"id": "evt_1", "type": "deploy.completed", "data": {}}'


async def test_an_error_has_the_class_of_its_code_and_of_its_type(direct: Caller):
    with pytest.raises(error_codes.SiteNotFound) as caught:
        await direct.run(lambda client: client.sites.get("site_" + "0" * 26))
    error = caught.value
    assert isinstance(error, errors.NotFound)
    assert (error.status, error.code, error.type) == (404, "site.not_found", "not_found")
    assert error.request_id is not None
    assert error.request_id in str(error)
    assert error.doc_url


def test_a_code_that_is_not_known_yet_has_the_class_of_its_type():
    envelope = {
        "error": {"type": "conflict", "code": "site.on_the_moon", "message": "It is."},
        "request_id": "req_1",
    }
    error = errors.error_of(409, envelope, None)
    assert type(error) is errors.Conflict
    assert type(errors.error_of(418, "<html>", None)) is errors.APIError
    assert type(errors.error_of(502, None, None)) is errors.ServerFault


async def test_the_wrong_field_is_named(direct: Caller):
    with pytest.raises(errors.InvalidRequest) as caught:
        await direct.run(lambda client: client.teams.create(name=""))
    assert caught.value.param == "name"


async def test_pages_are_read_as_they_are_needed(direct: Caller, person: Person):
    names = {f"team {number}" for number in range(5)}
    for name in names:
        await person.session.post("/v1/teams", json={"name": name})
    assert {team.name for team in await direct.run(lambda client: client.teams.list(limit=2))} == names
    first = await direct.run(lambda client: client.teams.list(limit=2).page())
    assert (len(first.data), first.has_more) == (2, True)
    second = await direct.run(lambda client: client.teams.list(limit=2).page(first.next_cursor))
    assert not {team.team_id for team in first.data} & {team.team_id for team in second.data}


async def test_the_raw_response_is_available(direct: Caller):
    raw = await direct.run(lambda client: client.account.with_raw_response.get())
    assert raw.status == 200
    assert raw.headers["x-ratelimit-limit"]
    assert raw.parsed.request_id == raw.request_id


async def test_the_raw_response_of_a_list_is_that_of_its_first_page(direct: Caller, person: Person):
    for name in ("a", "b", "c"):
        await person.session.post("/v1/teams", json={"name": name})
    read = direct.client.teams.with_raw_response.list
    for _ in range(2):
        raw = await direct.run(lambda _: read(limit=2))
        assert (raw.status, len(raw.parsed.data), raw.parsed.has_more) == (200, 2, True)
        assert raw.request_id == raw.parsed.request_id
    with pytest.raises(TypeError, match="stream"):
        await direct.run(lambda client: client.jobs.with_raw_response.stream("job_1"))
    with pytest.raises(AttributeError):
        _ = direct.client.teams.with_raw_response.fly


async def test_a_path_cannot_name_another_host(direct: Caller):
    for path in ("@evil.example/x", ".evil.example/", "v1/sites"):
        with pytest.raises(errors.ConfigurationError):
            await direct.run(methodcaller("request", "GET", path))


async def test_a_filter_can_have_several_values(proxied: Caller, proxy: FaultProxy):
    await proxied.run(
        lambda client: client.request("GET", "/v1/teams", query={"x": [1, 2], "limit": 5, "y": True})
    )
    assert proxy.forwarded[0].target == "/v1/teams?x=1&x=2&limit=5&y=true"


async def test_any_path_can_be_requested(direct: Caller):
    response = await direct.run(lambda client: client.request("GET", "/v1/sites", query={"limit": 1}))
    assert response.json()["data"] == []


async def test_the_own_idempotency_key_is_sent(direct: Caller):
    key = f"mine-{time.time_ns()}"
    first, second = [
        await direct.run(lambda client: client.with_options(idempotency_key=key).teams.create(name="mine"))
        for _ in range(2)
    ]
    assert first.team_id == second.team_id


async def test_one_client_serves_many_threads(api: str, person: Person):
    client = Stead(await person.secret(), base_url=api)
    found = await asyncio.gather(*(asyncio.to_thread(client.account.get) for _ in range(20)))
    assert {account.id for account in found} == {person.id}
    client.close()


async def test_a_connection_is_used_again(direct: Caller):
    await direct.run(lambda client: client.account.get())
    [idle] = [each for group in direct.client._connections._idle.values() for each in group]
    await direct.run(lambda client: client.account.get())
    assert [each for group in direct.client._connections._idle.values() for each in group] == [idle]


def test_what_a_newer_server_sends_breaks_nothing():
    site = types.Site(
        {"id": "site_1", "status": "teleporting", "orbit": 3, "challenge": {"type": "QR", "new": 1}}
    )
    assert site.status == "teleporting"
    assert site["orbit"] == 3
    assert site.challenge is not None
    assert site.challenge.type == "QR"
    assert site.to_dict()["orbit"] == 3


def test_what_an_older_server_does_not_send_is_none():
    assert types.Site({"id": "site_1"}).challenge is None
    with pytest.raises(AttributeError, match="has no field 'orbit'"):
        _ = types.Site({}).orbit


def test_secrets_are_not_shown():
    assert "stead_live_x" not in repr(types.MintedKey({"id": "key_1", "secret": "stead_live_x"}))
    assert "stead_live_x" not in repr(Stead("stead_live_x", base_url="http://x"))


def test_a_client_needs_an_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("STEAD_BASE_URL", raising=False)
    with pytest.raises(errors.ConfigurationError, match="STEAD_BASE_URL"):
        Stead("key")
    monkeypatch.setenv("STEAD_BASE_URL", "https://stead.example/")
    assert Stead("key").base_url == "https://stead.example"
    assert Stead("stead_test_key").is_test


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_an_identifier_cannot_leave_its_place_in_the_path(identifier: str):
    with pytest.raises(errors.ConfigurationError):
        Stead("key", base_url="http://127.0.0.1:1").sites.get(identifier)
    assert percent_encode("a/b?c=ü") == "a%2Fb%3Fc%3D%C3%BC"


def test_a_header_cannot_bring_another():
    client = Stead("key", base_url="http://127.0.0.1:1", user_agent="x\r\nEvil: 1", max_retries=0)
    with pytest.raises((errors.ConfigurationError, errors.APIConnectionError)):
        client.account.get()


def test_a_key_that_no_header_can_carry_is_refused():
    client = Stead("schlüssel→", base_url="http://127.0.0.1:1", max_retries=0)
    with pytest.raises((errors.ConfigurationError, errors.APIConnectionError)):
        client.account.get()


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://a.example", ("https", "", "a.example", 443, "/")),
        ("http://u:p@A.example:81/x?y#z", ("http", "u:p", "a.example", 81, "/x?y")),
        ("http://[::1]:8080?q", ("http", "", "::1", 8080, "/?q")),
    ],
)
def test_urls_are_split(url: str, parts: tuple[object, ...]):
    assert split_url(url) == parts


@pytest.mark.parametrize(
    "url",
    ["", "a.example", "ftp://a", "http://", "http://a:b", "http://a:²", "http://a b/", "http://a\\@b/"],
)
def test_other_urls_are_refused(url: str):
    with pytest.raises(errors.ConfigurationError):
        split_url(url)


def test_proxies_come_from_the_usual_variables(monkeypatch: pytest.MonkeyPatch):
    _forget_proxies(monkeypatch)
    origin = Origin("https", "api.stead.example", 443)
    assert proxy_for(origin) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://me:p%40ss@proxy.example:3128")
    found = proxy_for(origin)
    assert found is not None
    assert found.origin == Origin("http", "proxy.example", 3128)
    assert found.authorization == "Basic bWU6cEBzcw=="
    monkeypatch.setenv("NO_PROXY", "localhost, .stead.example")
    assert proxy_for(origin) is None
    for excepted in ("::1", "[::1]", "[::1]:443"):
        monkeypatch.setenv("NO_PROXY", excepted)
        assert proxy_for(Origin("https", "::1", 443)) is None
        assert proxy_for(origin) is not None


def _forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_an_encrypted_connection_goes_through_a_proxy(
    flavor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _forget_proxies(monkeypatch)
    files = write_certificate(tmp_path)
    account = {"id": "client_1", "email": "ada@example.com"}
    forged = b'{"data": {"id": "client_2", "email": "eve@example.com"}}'
    known = f"Basic {base64.b64encode(b'ada:secret').decode()}"
    answers = {"/v1/account": {"data": account, "request_id": "req_1"}}
    with answering(answers, files) as address, tunnel_proxy(known) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:secret@{proxy.address}")
        caller = Caller(flavor, "stead_live_x", base_url=address, ca_file=str(files[0]), max_retries=0)
        for _ in range(2):
            found = await caller.run(lambda client: client.account.get())
            assert found.email == "ada@example.com"
        caller.client.close()
        assert {*proxy.wanted} == {f"CONNECT {address.removeprefix('https://')} HTTP/1.1"}
        proxy.forged = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(forged), forged)
        caller = Caller(flavor, "stead_live_x", base_url=address, ca_file=str(files[0]), max_retries=0)
        with pytest.raises(errors.APIConnectionError, match="the proxy has sent more than its answer"):
            await caller.run(lambda client: client.account.get())
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        with pytest.raises(errors.APIConnectionError, match="407"):
            await caller.run(lambda client: client.account.get())
        caller.client.close()


def _signed(second: int, *secrets: str) -> dict[str, str]:
    lines = signing.headers("whd_1", second, BODY, [signing.key_of(secret) for secret in secrets])
    return dict(line.split(": ", 1) for line in lines.decode().strip().split("\r\n"))


@pytest.mark.parametrize("scheme", ["Api-", "webhook-"])
def test_deliveries_are_verified(scheme: str):
    old, new, now = signing.new_secret(), signing.new_secret(), int(datetime.now(UTC).timestamp())
    headers = {name: value for name, value in _signed(now, new, old).items() if name.startswith(scheme)}
    assert webhooks.verify(BODY, headers, new)["type"] == "deploy.completed"
    assert webhooks.verify(BODY, headers, [signing.new_secret(), old])["id"] == "evt_1"
    for body, given, when in (
        (BODY + b" ", new, now),
        (BODY, signing.new_secret(), now),
        (BODY, new, now + 301),
        (BODY, new, now - 301),
    ):
        with pytest.raises(errors.WebhookVerificationError):
            webhooks.verify(body, headers, given, now=when)


@pytest.mark.parametrize(
    "headers", [{}, {"Api-Signature": "t=x,v1=zz"}, {"Api-Signature": "v1=00"}, {"webhook-signature": "v1,%"}]
)
def test_a_delivery_without_a_signature_is_refused(headers: dict[str, str]):
    with pytest.raises(errors.WebhookVerificationError):
        webhooks.verify(BODY, headers, signing.new_secret())
