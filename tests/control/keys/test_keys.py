"""Minting API keys and reading them, through the API: what a tenant gets, what a stranger does not."""

from datetime import datetime, timedelta

import pytest

from stead.control.app import ControlPlane
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from stead.shared.secrets import mint
from tests.client import Client, code_of
from tests.people import Person

KEYS = "/v1/api-keys"


async def test_a_minted_key_works_and_its_secret_is_shown_once(person: Person, anonymous: Client):
    minted = await person.session.post(KEYS, json={"scopes": ["account:read"], "name": "CI"})
    assert minted.status_code == 201
    key = minted.json()["data"]
    assert key["secret"].startswith("stead_live_")
    assert key["last4"] == key["secret"][-4:]
    account = (await anonymous.as_(key["secret"]).get("/v1/account")).json()["data"]
    assert (account["id"], account["scopes"]) == (person.id, ["account:read"])
    read = await person.session.get(f"{KEYS}/{key['id']}")
    assert "secret" not in read.json()["data"]
    assert key["secret"] not in (await person.session.get(KEYS)).text


async def test_a_key_reads_back_as_it_was_minted(person: Person):
    wanted = {"scopes": ["sites:*", "keys:read"], "name": "deploys", "ip_allowlist": ["203.0.113.0/24"]}
    minted = (await person.session.post(KEYS, json=wanted)).json()["data"]
    del minted["secret"]
    assert (await person.session.get(f"{KEYS}/{minted['id']}")).json()["data"] == minted
    assert (await person.session.get(KEYS)).json()["data"][0] == minted
    assert minted["scopes"] == wanted["scopes"]
    assert minted["name"] == "deploys"
    assert minted["ip_allowlist"] == ["203.0.113.0/24"]
    assert minted["prefix"] == "stead_live"
    assert (minted["resource"], minted["last_used_at"], minted["revoked_at"]) == (None, None, None)


async def test_a_secret_stands_in_no_later_answer(person: Person):
    minted = (await person.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]
    address = f"{KEYS}/{minted['id']}"
    answers = [
        await person.session.patch(address, json={"name": "renamed"}),
        await person.session.get(address),
        await person.session.post(f"{address}/roll"),
        await person.session.delete(address),
        await person.session.get(address),
        await person.session.get(KEYS, params={"limit": 100}),
        await person.session.post(f"{address}/roll"),
        await person.session.get("/v1/account"),
        await person.session.get("/v1/rate-limits"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 204, 200, 200, 409, 200, 200]
    rest = minted["secret"].removeprefix("stead_live_")
    for answer in answers:
        assert rest not in answer.text
        assert rest not in str(answer.headers)


async def test_a_secret_is_nowhere_in_redis(person: Person, plane: ControlPlane):
    key = await person.key("account:read")
    await key.get("/v1/account")
    secret = key.headers["authorization"].removeprefix("Bearer ").encode()
    names = await plane.redis.execute("KEYS", "*")
    assert not any(secret in name for name in names)
    assert secret not in b" ".join(value or b"" for value in await plane.redis.execute("MGET", *names))


@pytest.mark.parametrize(
    ("sent", "days"), [({}, 90), ({"expires_in_days": 1}, 1), ({"expires_in_days": 365}, 365)]
)
async def test_a_key_stops_working_when_it_expires(
    person: Person, anonymous: Client, clock: MovableClock, sent: dict[str, int], days: int
):
    minted = (await person.session.post(KEYS, json={"scopes": ["account:read"], **sent})).json()["data"]
    lifetime = datetime.fromisoformat(minted["expires_at"]) - datetime.fromisoformat(minted["created_at"])
    assert lifetime == timedelta(days=days)
    key = anonymous.as_(minted["secret"])
    clock.move(timedelta(days=days, minutes=-1))
    assert (await key.get("/v1/account")).status_code == 200
    clock.move(timedelta(minutes=2))
    refused = await key.get("/v1/account")
    assert (refused.status_code, code_of(refused)) == (401, "auth.expired")
    assert code_of(await key.get("/v1/rate-limits")) == "auth.expired"


@pytest.mark.parametrize("days", [0, -1, 366, 10**30, 1.5, "90", None, True])
async def test_an_expiry_out_of_bounds_is_refused(person: Person, days: object):
    refused = await person.session.post(KEYS, json={"scopes": ["sites:read"], "expires_in_days": days})
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == "expires_in_days"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": None}, "scopes"),
        ({"scopes": "sites:read"}, "scopes"),
        ({"scopes": ["sites:read", "sites:fly"]}, "scopes.1"),
        ({"scopes": ["keys:*"]}, "scopes.0"),
        ({"scopes": ["sites:read"] * 101}, "scopes"),
        ({"scopes": ["sites:read"], "name": "x" * 201}, "name"),
        ({"scopes": ["sites:read"], "account_id": "client_1"}, "account_id"),
        ({"scopes": ["sites:read"], "secret": "mine"}, "secret"),
        ({"scopes": ["sites:read"], "resource": {"type": "planet", "id": "x"}}, "resource.type"),
        ({"scopes": ["sites:read"], "resource": {"type": "site"}}, "resource.id"),
        ({"scopes": ["sites:read"], "mode": "production"}, "mode"),
    ],
)
async def test_a_bad_field_is_refused_by_its_name(person: Person, body: dict[str, object], param: str):
    refused = await person.session.post(KEYS, json=body)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == param
    assert (await person.session.get(KEYS)).json()["data"] == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"[" * 5000,
        b'{"scopes": ["\xff"]}',
        b'{"scopes":["sites:read"],"name":"\\ud800"}',
        b'{"scopes":["sites:read"],"name":"a\\u0000b"}',
    ],
)
async def test_a_body_that_is_no_such_object_is_refused(person: Person, raw: bytes):
    assert (await person.session.post(KEYS, content=raw)).status_code == 400


async def test_nothing_can_be_pinned_to_what_is_not_there(person: Person):
    body = {"scopes": ["sites:read"], "resource": {"type": "site", "id": new_id("site")}}
    refused = await person.session.post(KEYS, json=body)
    assert (refused.status_code, code_of(refused)) == (404, "site.not_found")


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "auth.missing"),
        ("", "auth.missing"),
        ("Bearer", "auth.malformed"),
        ("Bearer ", "auth.malformed"),
        ("Basic dXNlcjpwYXNz", "auth.malformed"),
        ("Bearer stead_live_nonsense", "auth.malformed"),
        ("Bearer <key>x", "auth.malformed"),
        ("Token <key>", "auth.malformed"),
        ("Bearer <key>", "auth.invalid"),
        ("Bearer <session>", "auth.invalid"),
        ("Bearer \xff\xfe", "auth.malformed"),
    ],
)
async def test_a_credential_that_is_none_is_refused(anonymous: Client, header: str | None, code: str):
    """`<key>` and `<session>` stand for well-formed secrets that nobody was given."""
    unissued = {"<key>": mint("stead_live").text, "<session>": mint("stead_session").text}
    for name, secret in unissued.items():
        header = header and header.replace(name, secret)
    sent = {} if header is None else {b"authorization": header.encode("latin-1")}
    refused = await anonymous.get(KEYS, headers=sent)
    assert (refused.status_code, code_of(refused)) == (401, code)
    assert refused.headers["www-authenticate"] == "Bearer"
    assert "x-ratelimit-limit" not in refused.headers


async def test_a_strangers_key_is_not_there_and_stays_unchanged(person: Person, stranger: Person):
    minted = (await person.session.post(KEYS, json={"scopes": ["sites:write"], "name": "mine"})).json()[
        "data"
    ]
    address = f"{KEYS}/{minted['id']}"
    before = (await person.session.get(address)).json()["data"]
    intruder = await stranger.key()
    missing = await intruder.get(f"{KEYS}/{new_id('key')}")
    for attempt in (
        await intruder.get(address),
        await intruder.patch(address, json={"name": "stolen"}),
        await intruder.patch(address, json={"scopes": ["nonsense"]}),
        await intruder.delete(address),
        await intruder.post(f"{address}/roll"),
        await stranger.session.delete(address),
    ):
        assert (attempt.status_code, code_of(attempt)) == (404, "key.not_found")
        assert attempt.json()["error"] == missing.json()["error"]
    assert (await person.session.get(address)).json()["data"] == before
    assert minted["id"] not in (await intruder.get(KEYS)).text
    own = await stranger.key("account:read")
    assert (await own.get("/v1/account")).json()["data"]["id"] == stranger.id


async def test_a_key_without_the_scope_sees_404_before_403(person: Person, stranger: Person):
    """What is not visible is not there, whatever the scopes; only what is visible tells of a missing one."""
    theirs = (await stranger.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]["id"]
    mine = (await person.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]["id"]
    weak = await person.key("account:read")
    assert code_of(await weak.get(f"{KEYS}/{theirs}")) == "key.not_found"
    refused = await weak.delete(f"{KEYS}/{mine}")
    assert (refused.status_code, code_of(refused)) == (403, "scope.insufficient")
    assert "keys:write" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    "name", ["x", "key_", "key_' or true --", "%2e%2e", "KEY_01", "key_%00", "*", "null"]
)
async def test_a_malformed_identifier_is_not_there(person: Person, name: str):
    assert code_of(await person.session.get(f"{KEYS}/{name}")) == "key.not_found"
