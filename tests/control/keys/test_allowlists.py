"""Keys that work only from certain addresses, and everything that tries to get around that."""

from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.postgres import Invalidation
from stead.shared.secrets import digest
from tests.client import code_of
from tests.people import Person

KEYS = "/v1/api-keys"


@pytest.mark.parametrize(
    ("allowlist", "address", "allowed"),
    [
        (["203.0.113.7"], "203.0.113.7", True),
        (["203.0.113.7"], "203.0.113.8", False),
        (["203.0.113.0/24"], "203.0.113.255", True),
        (["203.0.113.0/24"], "203.0.114.0", False),
        (["2001:db8::/32"], "2001:db8:ffff::1", True),
        (["2001:db8::/32"], "2001:db9::1", False),
        (["2001:db8::1"], "2001:0db8:0:0:0:0:0:1", True),
        (["198.51.100.1", "2001:db8::/32", "203.0.113.7"], "203.0.113.7", True),
        (["203.0.113.7"], "::ffff:203.0.113.7", True),
        (["203.0.113.7"], "::ffff:203.0.113.8", False),
        (["::/0"], "203.0.113.7", False),
        (["0.0.0.0/0"], "2001:db8::1", False),
        (["0.0.0.0/0"], "::ffff:203.0.113.8", True),
        ([], "203.0.113.7", True),
    ],
)
async def test_a_key_works_from_where_its_list_says(
    person: Person, from_address, allowlist: list[str], address: str, allowed: bool
):
    secret = await person.secret("account:read", ip_allowlist=allowlist)
    answer = await from_address(address, secret).get("/v1/account")
    assert code_of(answer) == ("200" if allowed else "auth.ip_not_allowed")
    assert answer.status_code == (200 if allowed else 401)


async def test_every_operation_asks_for_the_address(person: Person, from_address):
    outside = from_address("198.51.100.9", await person.secret(ip_allowlist=["203.0.113.7"]))
    for method, path in (
        ("GET", KEYS),
        ("POST", KEYS),
        ("GET", "/v1/rate-limits"),
        ("DELETE", "/v1/sessions/current"),
        ("PATCH", "/v1/account"),
    ):
        assert code_of(await outside.request(method, path, json={})) == "auth.ip_not_allowed"


@pytest.mark.parametrize(
    "header",
    ["x-forwarded-for", "x-real-ip", "forwarded", "true-client-ip", "cf-connecting-ip", "x-client-ip"],
)
async def test_an_untrusted_peer_cannot_speak_for_another_address(person: Person, from_address, header: str):
    outside = from_address("198.51.100.9", await person.secret("account:read", ip_allowlist=["203.0.113.7"]))
    for claim in ("203.0.113.7", "203.0.113.7, 203.0.113.7", "for=203.0.113.7", "127.0.0.1, 203.0.113.7"):
        refused = await outside.get("/v1/account", headers={header: claim})
        assert (refused.status_code, code_of(refused)) == (401, "auth.ip_not_allowed")
        assert "198.51.100.9" in refused.json()["error"]["message"]


async def test_a_key_seen_from_inside_is_still_refused_from_outside(person: Person, from_address):
    """The cached copy of a principal carries its list."""
    secret = await person.secret("account:read", ip_allowlist=["203.0.113.7"])
    for address, status in (("203.0.113.7", 200), ("198.51.100.9", 401), ("203.0.113.7", 200)):
        assert (await from_address(address, secret).get("/v1/account")).status_code == status


async def test_a_request_from_elsewhere_spends_nothing_of_the_key(new_person, from_address):
    """Otherwise whoever finds a secret that does them no good can still starve its owner and their team."""
    secret = await (await new_person(plan="free")).secret(ip_allowlist=["203.0.113.7"])
    inside, outside = from_address("203.0.113.7", secret), from_address("198.51.100.9", secret)
    for _ in range(3):
        refused = await outside.post(KEYS, json={"scopes": ["sites:read"]})
        assert code_of(refused) == "auth.ip_not_allowed"
        assert "x-ratelimit-remaining" not in refused.headers
    left = (await inside.get("/v1/rate-limits")).json()["data"]
    assert [bucket["limit"] - bucket["remaining"] for bucket in left["buckets"]] == [0, 0, 0]


@pytest.mark.parametrize(
    "entry",
    [
        "203.0.113.7/24",
        "2001:db8::1/32",
        "203.0.113",
        "203.0.113.256",
        "203.0.113.7/33",
        "2001:db8::/129",
        "example.com",
        "",
        " 203.0.113.7",
        "203.0.113.7\n",
        "0xcb007107",
        "010.0.0.1",
        "3405803783",
        "*",
        "203.0.113.7,198.51.100.1",
    ],
)
async def test_what_is_no_address_and_no_network_is_refused(person: Person, entry: str):
    refused = await person.session.post(
        KEYS, json={"scopes": ["sites:read"], "ip_allowlist": ["192.0.2.1", entry]}
    )
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == "ip_allowlist.1"


async def test_a_list_has_at_most_100_entries(person: Person):
    for count, status in ((100, 201), (101, 400)):
        body = {"scopes": ["sites:read"], "ip_allowlist": [f"192.0.2.{n}" for n in range(count)]}
        assert (await person.session.post(KEYS, json=body)).status_code == status


@pytest.mark.parametrize("sent", [{}, {"ip_allowlist": None}, {"ip_allowlist": []}])
async def test_a_minted_key_inherits_its_minters_list(person: Person, from_address, sent: dict[str, Any]):
    secret = await person.secret(
        "keys:write", "account:read", ip_allowlist=["203.0.113.0/24", "2001:db8::/32"]
    )
    inside = from_address("203.0.113.9", secret)
    minted = (await inside.post(KEYS, json={"scopes": ["account:read"], **sent})).json()["data"]
    assert minted["ip_allowlist"] == ["203.0.113.0/24", "2001:db8::/32"]
    refused = await from_address("198.51.100.9", minted["secret"]).get("/v1/account")
    assert code_of(refused) == "auth.ip_not_allowed"


@pytest.mark.parametrize(
    ("wanted", "within"),
    [
        (["203.0.113.9"], True),
        (["203.0.113.128/25", "2001:db8:1::/48"], True),
        (["203.0.113.0/24"], True),
        (["203.0.112.0/23"], False),
        (["0.0.0.0/0"], False),
        (["::/0"], False),
        (["::ffff:203.0.113.9"], False),
        (["203.0.113.9", "198.51.100.1"], False),
    ],
)
async def test_a_minted_key_cannot_reach_beyond_its_minter(
    person: Person, from_address, wanted: list[str], within: bool
):
    secret = await person.secret("keys:write", ip_allowlist=["203.0.113.0/24", "2001:db8::/32"])
    inside = from_address("203.0.113.9", secret)
    answer = await inside.post(KEYS, json={"scopes": ["keys:read"], "ip_allowlist": wanted})
    assert code_of(answer) == ("201" if within else "request.field_invalid")


async def test_a_changed_list_counts_from_the_next_load(person: Person, plane: ControlPlane, from_address):
    """An operator who edits the row and outdates the copy locks the address out."""
    secret = await person.secret("account:read")
    anywhere = from_address("198.51.100.9", secret)
    assert (await anywhere.get("/v1/account")).status_code == 200
    async with plane.database.transaction() as tx:
        key = await tx.value("select key_id from api_key_secrets where hash = $1", digest(secret))
        await tx.run("update api_keys set ip_allowlist = '{203.0.113.7}' where id = $1", key)
    await plane.invalidator.publish([Invalidation(0, key)])
    assert code_of(await anywhere.get("/v1/account")) == "auth.ip_not_allowed"
