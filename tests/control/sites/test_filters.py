"""Filters of the list of sites: they narrow down what the caller can see, and never widen it."""

from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.shared.ids import new_id
from tests import teams
from tests.client import Client
from tests.people import Person


async def _listed(client: Client, **query: Any) -> list[str]:
    answer = await client.get("/v1/sites", params=query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["data"]]


async def _insert(plane: ControlPlane, person: Person, domain: str, status: str = "running") -> str:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, status=status)
        await tx.run("update sites set domain = $2 where id = $1", site, domain)
    return site


def _name() -> str:
    return new_id("s").removeprefix("s_")


async def test_no_filter_finds_a_site_of_somebody_else(plane: ControlPlane, person: Person, stranger: Person):
    name = _name()
    theirs = await _insert(plane, stranger, f"{name}.example.com")
    async with plane.database.transaction() as tx:
        await teams.insert_domain(tx, await teams.environment_of(tx, theirs), f"www.{name}.example.com")
    for query in (
        {"q": name},
        {"q": theirs.replace("_", "-")},
        {"domain": f"{name}.example.com"},
        {"domain": f"www.{name}.example.com"},
        {"status": "running"},
    ):
        assert theirs not in await _listed(person.session, **query)
        assert theirs in await _listed(stranger.session, **query)


async def test_a_pinned_key_finds_only_its_site(plane: ControlPlane, person: Person):
    name = _name()
    one, two = [await _insert(plane, person, f"{word}.{name}.example.com") for word in ("one", "two")]
    body = {"scopes": ["*"], "resource": {"type": "site", "id": one}}
    minted = await person.session.post("/v1/api-keys", json=body)
    key = person.session.as_(minted.json()["data"]["secret"])
    assert await _listed(key, q=name) == [one]
    assert await _listed(key, domain=f"two.{name}.example.com") == []
    assert await _listed(person.session, q=name) == [two, one]


async def test_text_is_compared_literally_in_any_case(plane: ControlPlane, person: Person):
    name = _name()
    site = await _insert(plane, person, f"{name}.example.com")
    assert await _listed(person.session, q=f" {name[4:].upper()} ") == [site]
    for pattern in ("%", "_", f"{name[:-1]}_", "\\", "' or true --"):
        assert await _listed(person.session, q=pattern) == []


async def test_a_site_is_found_by_each_of_its_domains_as_a_whole(plane: ControlPlane, person: Person):
    name = _name()
    site = await _insert(plane, person, f"{name}.example.com")
    async with plane.database.transaction() as tx:
        await teams.insert_domain(tx, await teams.environment_of(tx, site), f"www.{name}.example.com")
    for domain in (f"{name}.example.com", f"WWW.{name}.example.com"):
        assert await _listed(person.session, domain=domain) == [site]
    assert await _listed(person.session, domain="example.com") == []
    for text in ("", ".", "a..b", "-", "ü" * 300, "a\u3002b", "xn--"):
        assert await _listed(person.session, domain=text[:253]) == []


async def test_a_domain_is_found_in_each_of_its_spellings(plane: ControlPlane, person: Person):
    name = _name()
    site = await _insert(plane, person, f"xn--bcher-kva.{name}.example.com")
    for domain in ("bücher", "BÜCHER", "xn--bcher-kva"):
        assert await _listed(person.session, domain=f"{domain}.{name}.example.com.") == [site]


async def test_deleted_sites_are_listed_only_on_request(plane: ControlPlane, person: Person):
    name = _name()
    live = await _insert(plane, person, f"live.{name}.example.com")
    deleted = await _insert(plane, person, f"deleted.{name}.example.com", "deleted")
    assert await _listed(person.session) == [live]
    assert await _listed(person.session, q=name) == [live]
    assert await _listed(person.session, status="deleted") == [deleted]
    assert await _listed(person.session, status="running", q=name) == [live]
    assert await _listed(person.session, status="running", q="deleted") == []


async def test_pages_of_a_filtered_list_hold_every_match_once(plane: ControlPlane, person: Person):
    name = _name()
    wanted = []
    for number in range(5):
        wanted.append(await _insert(plane, person, f"{number}.{name}.example.com"))
        await _insert(plane, person, f"{_name()}.example.com")
    found: list[str] = []
    query: dict[str, Any] = {"q": name, "limit": 2}
    for _ in range(3):
        page = (await person.session.get("/v1/sites", params=query)).json()
        found += [each["id"] for each in page["data"]]
        query["cursor"] = page["pagination"]["next_cursor"]
    assert found == wanted[::-1]
    assert query["cursor"] is None


@pytest.mark.parametrize(
    ("query", "param"),
    [({"status": "wat"}, "status"), ({"q": "x" * 201}, "q"), ({"domain": "x" * 254}, "domain")],
)
async def test_a_wrong_filter_is_refused_by_its_name(person: Person, query: dict[str, str], param: str):
    refused = await person.session.get("/v1/sites", params=query)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
