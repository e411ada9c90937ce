"""Branch routes, hook secrets and deploy keys through the API."""

import asyncio
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from stead.control.app import ControlPlane
from stead.control.git import service as git
from stead.control.jobs.presigning import unseal_secrets
from stead.control.sealing import SealBroken, Sealer
from stead.protocol.work.builds import Build, GitSource
from tests import teams
from tests.people import Person

REPOSITORY = "ssh://git@git.example.com/o/site.git"


@pytest.fixture
async def site(plane: ControlPlane, person: Person) -> str:
    async with plane.database.transaction() as tx:
        site_id = await teams.insert_site(tx, account=person.id)
        await tx.run("update sites set git_repo = $2, git_branch = 'main' where id = $1", site_id, REPOSITORY)
    return site_id


async def _put(person: Person, site: str, *rules: tuple[str, str], **more: Any) -> dict[str, Any]:
    body = {"rules": [{"pattern": pattern, "target": target} for pattern, target in rules], **more}
    put = await person.session.request("PUT", f"/v1/sites/{site}/branch-routes", json=body)
    assert put.status_code == 200, put.text
    return dict(put.json()["data"])


async def _get(person: Person, site: str) -> dict[str, Any]:
    got = await person.session.get(f"/v1/sites/{site}/branch-routes")
    assert got.status_code == 200, got.text
    return dict(got.json()["data"])


async def test_a_new_site_has_no_rules_and_shows_how_to_connect(person: Person, site: str):
    routes = await _get(person, site)
    assert routes["rules"] == []
    assert routes["hook_url"] == f"http://stead.test/hooks/git/{site}"
    assert routes["hook_secret_set"] is False
    assert routes["deploy_key"].startswith("ssh-ed25519 ")
    assert (routes["last_hook_at"], routes["last_checked_at"], routes["last_error"]) == (None, None, None)
    assert "hook_secret" not in routes


async def test_rules_are_replaced_as_a_whole_and_keep_their_order(person: Person, site: str):
    wanted = [("release/*", "staging"), ("feature/**", "preview"), ("main", "live"), ("**", "ignore")]
    put = await _put(person, site, *wanted)
    assert [(rule["pattern"], rule["target"]) for rule in put["rules"]] == wanted
    assert (await _get(person, site))["rules"] == put["rules"]
    await _put(person, site, ("main", "staging"))
    assert len((await _get(person, site))["rules"]) == 1
    await _put(person, site)
    assert (await _get(person, site))["rules"] == []


async def test_a_secret_is_returned_only_when_it_is_rolled(person: Person, site: str):
    first = await _put(person, site, roll_hook_secret=True)
    assert len(first["hook_secret"]) >= 40
    assert (first["hook_secret_set"], "hook_secret" in await _get(person, site)) == (True, False)
    assert "hook_secret" not in await _put(person, site)
    second = await _put(person, site, roll_hook_secret=True)
    assert second["hook_secret"] != first["hook_secret"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"rules": [{"pattern": "a b", "target": "live"}]}, "rules.0.pattern"),
        (
            {"rules": [{"pattern": "a", "target": "live"}, {"pattern": "a", "target": "live"}]},
            "rules.1.pattern",
        ),
        ({"rules": [{"pattern": "a", "target": "production"}]}, "rules.0.target"),
        ({"rules": [{"pattern": "a"}]}, "rules.0.target"),
        ({"rules": [{"pattern": "", "target": "live"}]}, "rules.0.pattern"),
        ({"rules": [{"pattern": "a", "target": "live", "x": 1}]}, "rules.0.x"),
        ({"rules": [{"pattern": f"b{n}", "target": "ignore"} for n in range(101)]}, "rules"),
        ({"rules": "x"}, "rules"),
        ({}, "rules"),
        ({"rules": [], "hook_secret": "mine"}, "hook_secret"),
        ({"rules": [], "roll_hook_secret": "yes"}, "roll_hook_secret"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_invalid_rules_are_refused_and_the_field_is_named(
    person: Person, site: str, body: dict[str, Any], param: str
):
    await _put(person, site, ("main", "staging"))
    refused = await person.session.request("PUT", f"/v1/sites/{site}/branch-routes", json=body)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "request.field_invalid", param)
    assert len((await _get(person, site))["rules"]) == 1


async def test_a_hundred_rules_are_accepted(person: Person, site: str):
    await _put(person, site, *((f"b{number}", "ignore") for number in range(100)))
    assert len((await _get(person, site))["rules"]) == 100


async def test_concurrent_requests_create_one_deploy_key(person: Person, site: str):
    routes = await asyncio.gather(*(_get(person, site) for _ in range(10)))
    assert len({each["deploy_key"] for each in routes}) == 1


async def test_the_private_deploy_key_matches_the_public_one_and_opens_only_for_its_site(
    plane: ControlPlane, person: Person, site: str
):
    public = load_ssh_public_key((await _get(person, site))["deploy_key"].encode())
    sealer = Sealer.from_text(plane.settings.sealing_key)
    async with plane.database.reading() as tx:
        sealed = await git.get_sealed_deploy_key(tx, site)
    assert "PRIVATE" not in sealed
    work = Build("static", GitSource(REPOSITORY, "main", key=sealed), "staged/x")
    opened = unseal_secrets(work, sealer, site)
    assert isinstance(opened, Build)
    assert isinstance(opened.source, GitSource)
    private = load_ssh_private_key(opened.source.key.encode(), password=None)
    assert private.public_key() == public
    with pytest.raises(SealBroken):
        unseal_secrets(work, sealer, "site_of_another_owner")


async def test_a_site_without_a_repository_has_no_deploy_key(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        plain = await teams.insert_site(tx, account=person.id)
    assert (await _get(person, plain))["deploy_key"] is None


async def test_another_tenant_can_neither_read_nor_change_routes(person: Person, stranger: Person, site: str):
    for method, body in (("GET", None), ("PUT", {"rules": [], "roll_hook_secret": True})):
        answered = await stranger.session.request(method, f"/v1/sites/{site}/branch-routes", json=body)
        assert (answered.status_code, answered.json()["error"]["code"]) == (404, "site.not_found")
    assert (await _get(person, site))["hook_secret_set"] is False


async def test_a_key_with_read_scope_cannot_change_routes(person: Person, site: str):
    reader = await person.key("sites:read")
    assert (await reader.get(f"/v1/sites/{site}/branch-routes")).status_code == 200
    refused = await reader.request("PUT", f"/v1/sites/{site}/branch-routes", json={"rules": []})
    assert refused.status_code == 403


async def test_events_and_audit_entries_do_not_contain_the_secret(
    plane: ControlPlane, person: Person, site: str
):
    secret = (await _put(person, site, ("main", "live"), roll_hook_secret=True))["hook_secret"]
    async with plane.database.reading() as tx:
        events = await tx.all(
            lambda type_, data: (type_, str(data)),
            "select type, data from events where site_id = $1 order by written",
            site,
        )
        audit_entries = await tx.all(str, "select meta::text from audit_events where site_id = $1", site)
    assert [type_ for type_, _ in events] == ["site.branch_routes_changed", "site.hook_secret_rolled"]
    assert secret not in str(events) + str(audit_entries)
