"""What a caller is told about its buckets: on every answer, on a refusal, and on request."""

import re
import time
from typing import Any

import httpx
import pytest

from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.http.principals import TIGHT
from tests.people import Person

KEYS = "/v1/api-keys"
ITEM = re.compile(r'"(\w+)"((?:;\w+=\d+)+)')


def parsed(field: str) -> dict[str, dict[str, int]]:
    """A list of strings with integer parameters, as RFC 9651 writes it."""
    items = {}
    for item in field.split(", "):
        match = ITEM.fullmatch(item)
        assert match, field
        items[match[1]] = {
            name: int(value) for name, value in (each.split("=") for each in match[2][1:].split(";"))
        }
    return items


def told(answer: httpx.Response) -> tuple[int, int, int]:
    limit, remaining, reset = (
        int(answer.headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset")
    )
    return limit, remaining, reset


@pytest.fixture
async def hasty(new_person: NewPerson, tight: str) -> Person:
    return await new_person(plan=tight)


async def exhaust(client: Client, method: str, path: str, **options: Any) -> httpx.Response:
    for _ in range(50):
        answer = await client.request(method, path, **options)
        if answer.status_code == 429:
            return answer
    raise AssertionError("the bucket never ran dry")


async def test_remaining_counts_down_and_is_never_negative(hasty: Person):
    key = await hasty.key("sites:read")
    seen = []
    for _ in range(TIGHT.create + 3):
        limit, remaining, reset = told(await key.post(KEYS, json={}))
        assert limit == TIGHT.create
        assert time.time() - 1 <= reset <= time.time() + 61
        seen.append(remaining)
    assert seen == [2, 1, 0, 0, 0, 0]


async def test_a_refusal_says_how_long_to_wait(hasty: Person):
    refused = await exhaust(await hasty.key(), "PATCH", f"{KEYS}/{new_id('key')}", json={})
    assert (refused.status_code, code_of(refused)) == (429, "rate_limit.exceeded")
    assert refused.json()["error"]["type"] == "rate_limit"
    wait = int(refused.headers["retry-after"])
    assert 1 <= wait <= 60 / TIGHT.write
    assert re.search(rf"\b{wait} s", refused.json()["error"]["message"])
    assert told(refused)[:2] == (TIGHT.write, 0)


async def test_a_refusal_for_the_team_says_when_the_team_has_requests_again(hasty: Person):
    """The key has reads left; it is the ceiling that is empty, so waiting for the key's bucket is in vain."""
    refused = await exhaust(await hasty.key("account:read"), "GET", "/v1/account")
    limit, remaining, reset = told(refused)
    assert (limit, remaining) == (TIGHT.read, 0)
    assert reset >= int(time.time()) + int(refused.headers["retry-after"]) - 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/account", 200),
        ("GET", f"{KEYS}/key_{'0' * 26}", 404),
        ("POST", KEYS, 400),
        ("DELETE", f"{KEYS}/key_{'0' * 26}", 404),
        ("GET", "/v1/rate-limits", 200),
    ],
)
async def test_every_answer_to_a_credential_carries_the_headers(
    person: Person, method: str, path: str, status: int
):
    answer = await person.session.request(method, path)
    assert answer.status_code == status
    limit, remaining, reset = told(answer)
    assert 0 <= remaining <= limit
    assert abs(reset - time.time()) < 62
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "pin", "status"),
    [
        ("GET", "/v1/nothing-here", None, 404),
        ("POST", "/v1/nothing-here", None, 404),
        ("PATCH", "/v1/api-keys", None, 405),
        ("GET", "/v1/account", "2001-01-01", 400),
        ("GET", "/v1/nothing-here", "2001-01-01", 404),
        ("GET", "/v1/rate-limits", "2001-01-01", 400),
    ],
)
async def test_a_request_for_no_operation_carries_the_headers(
    person: Person, method: str, path: str, pin: str | None, status: int
):
    headers = {} if pin is None else {"api-version": pin}
    answer = await person.session.request(method, path, headers=headers)
    assert answer.status_code == status
    limit, remaining, _ = told(answer)
    assert 0 <= remaining <= limit


async def test_a_request_for_no_operation_is_refused_when_the_bucket_is_empty(hasty: Person):
    refused = await exhaust(await hasty.key("sites:read"), "POST", "/v1/nothing-here")
    assert (code_of(refused), told(refused)[:2]) == ("rate_limit.exceeded", (TIGHT.create, 0))


@pytest.mark.parametrize("credential", ["stead_live_unknown", "nonsense"])
async def test_a_route_that_does_not_exist_is_not_found_with_a_wrong_credential_too(
    anonymous: Client, credential: str
):
    answer = await anonymous.as_(credential).get("/v1/nothing-here")
    assert (answer.status_code, "x-ratelimit-limit" in answer.headers) == (404, False)


async def test_the_ietf_fields_parse_and_agree(hasty: Person):
    key = await hasty.key("account:read")
    for answer in (await key.get("/v1/account"), await exhaust(key, "GET", "/v1/account")):
        policy, left = parsed(answer.headers["ratelimit-policy"]), parsed(answer.headers["ratelimit"])
        assert policy == {"read": {"q": TIGHT.read, "w": 60}, "team": {"q": TIGHT.ceiling, "w": 60}}
        assert set(left) == {"read", "team"}
        assert left["read"]["r"] == told(answer)[1]
        for name, item in left.items():
            assert 0 <= item["r"] <= policy[name]["q"]
            assert 0 <= item["t"] <= 61


async def test_asking_for_the_limits_spends_nothing(hasty: Person):
    key = await hasty.key("sites:read")
    answers = [(await key.get("/v1/rate-limits")) for _ in range(3 * TIGHT.ceiling)]
    assert {answer.status_code for answer in answers} == {200}
    for answer in (answers[0], answers[-1]):
        data = answer.json()["data"]
        assert [(each["class"], each["limit"], each["remaining"]) for each in data["buckets"]] == [
            ("read", TIGHT.read, TIGHT.read),
            ("write", TIGHT.write, TIGHT.write),
            ("create", TIGHT.create, TIGHT.create),
        ]
        assert data["team_ceiling"]["remaining"] == TIGHT.ceiling
        assert "class" not in data["team_ceiling"]


async def test_the_limits_show_what_was_spent_even_when_nothing_is_left(hasty: Person):
    key = await hasty.key()
    await exhaust(key, "POST", KEYS, json={})
    data = (await key.get("/v1/rate-limits")).json()["data"]
    assert [each["remaining"] for each in data["buckets"]] == [TIGHT.read, TIGHT.write, 0]
    assert data["team_ceiling"]["remaining"] == TIGHT.ceiling - TIGHT.create
    assert data["buckets"][2]["reset"] > time.time()


async def test_the_free_plan_creates_five_times_a_minute(new_person):
    person = await new_person(plan="free")
    key = await person.key()
    statuses = [(await key.post(KEYS, json={"scopes": ["sites:read"]})).status_code for _ in range(7)]
    assert statuses == [201] * 5 + [429] * 2
    assert len((await key.get(KEYS)).json()["data"]) == 6
    assert (await key.get("/v1/account")).headers["x-ratelimit-limit"] == "1000"


async def test_sessions_have_buckets_of_their_own_under_the_same_ceiling(hasty: Person):
    refused = await exhaust(hasty.session, "POST", KEYS, json={})
    assert refused.headers["x-ratelimit-limit"] == str(TIGHT.create)
    key = await hasty.key()
    assert (await key.post(KEYS, json={})).status_code == 400
    ceiling = (await hasty.session.get("/v1/rate-limits")).json()["data"]["team_ceiling"]
    assert ceiling["remaining"] == TIGHT.ceiling - TIGHT.create - 1


async def test_minting_more_keys_does_not_raise_what_an_account_can_do(hasty: Person):
    keys = [await hasty.key("account:read") for _ in range(5)]
    answers = [(await key.get("/v1/account")).status_code for _ in range(3) for key in keys]
    assert answers == [200] * TIGHT.ceiling + [429] * (15 - TIGHT.ceiling)


async def test_one_tenants_haste_does_not_slow_another(hasty: Person, new_person, tight: str):
    await exhaust(await hasty.key("account:read"), "GET", "/v1/account")
    other = await new_person(plan=tight)
    assert (await other.session.get("/v1/account")).status_code == 200


async def test_rolling_a_key_does_not_fill_its_bucket(hasty: Person, anonymous: Client):
    minted = (await hasty.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]
    await exhaust(anonymous.as_(minted["secret"]), "POST", KEYS, json={})
    rolled = (await hasty.session.post(f"{KEYS}/{minted['id']}/roll")).json()["data"]
    assert code_of(await anonymous.as_(rolled["secret"]).post(KEYS, json={})) == "rate_limit.exceeded"


async def test_an_empty_bucket_is_told_before_anything_about_the_resource(hasty: Person, stranger: Person):
    key = await hasty.key("sites:read")
    theirs = (await stranger.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]["id"]
    await exhaust(key, "POST", KEYS, json={})
    for path in (f"{KEYS}/{theirs}/roll", f"{KEYS}/{new_id('key')}/roll", KEYS):
        assert (await key.post(path, content=b"{")).status_code == 429


async def test_a_revoked_key_is_told_so_even_with_an_empty_bucket(hasty: Person, anonymous: Client):
    minted = (await hasty.session.post(KEYS, json={"scopes": ["sites:read"]})).json()["data"]
    key = anonymous.as_(minted["secret"])
    await exhaust(key, "POST", KEYS, json={})
    await hasty.session.delete(f"{KEYS}/{minted['id']}")
    assert code_of(await key.post(KEYS, json={})) == "auth.revoked"
