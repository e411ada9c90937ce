"""Reading sites: visibility, capabilities, pagination and older API versions."""

from typing import Any

import pytest

from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.site_driver import SiteDriver, create_site
from tests.people import Person

NO, YES = {"supported": False}, {"supported": True}
KEYS = [
    *(
        "components.plugins",
        "components.themes",
        "components.users",
        "components.content",
        "cron",
        "database",
    ),
    *("exec", "magic_link", "clone_content", "build", "functions"),
]
MATRIX: dict[str, dict[str, dict[str, Any]]] = {
    "cms": {
        "components.plugins": {**YES, "actions": ["list", "install", "activate", "update", "delete"]},
        "components.themes": {**YES, "actions": ["list", "activate", "update", "delete"]},
        "components.users": YES,
        "components.content": YES,
        "cron": {**YES, "kind": "cms-cron"},
        "database": {**YES, "engine": "mariadb"},
        "exec": {**YES, "shells": ["cms-cli", "bash"]},
        "magic_link": YES,
        "clone_content": {**YES, "selectors": ["db", "files"]},
        "build": YES,
    },
    "static": {"clone_content": {**YES, "selectors": ["files"]}, "build": YES},
    "wasm": {"build": YES, "functions": {**YES, "actions": ["deploy", "rollback", "routes", "secrets"]}},
}
PROFILES = {"vanilla": "cms", "git_managed": "cms", "static": "static", "wasm": "wasm"}


def _expected(runtime: str) -> dict[str, dict[str, Any]]:
    return {key: MATRIX[runtime].get(key, NO) for key in KEYS}


@pytest.mark.parametrize(("profile", "runtime"), PROFILES.items())
async def test_a_site_has_the_capabilities_of_its_runtime(person: Person, profile: str, runtime: str):
    body = {"git_repo": "https://h.example/x"} if profile == "git_managed" else {}
    site = await create_site(person.session, profile=profile, **body)
    found = (await person.session.get(f"/v1/sites/{site['id']}/capabilities")).json()["data"]
    assert found == {"runtime": runtime, "capabilities": _expected(runtime)}


async def test_the_catalog_includes_planned_runtimes(person: Person):
    found = (await person.session.get("/v1/runtimes")).json()["data"]["runtimes"]
    available = [
        {"runtime": runtime, "profiles": profiles, "status": "available", "capabilities": _expected(runtime)}
        for runtime, profiles in (
            ("cms", ["git_managed", "vanilla"]),
            ("static", ["static"]),
            ("wasm", ["wasm"]),
        )
    ]
    assert found[:3] == available
    assert [(each["runtime"], each["status"]) for each in found[3:]] == [
        ("drupal", "planned"),
        ("node", "planned"),
    ]


@pytest.mark.parametrize(
    "id_", ["site_x", "nonsense", "site_01k9zy3v7d00r3m8w5x2t6b4qa", "%27%20or%201=1", "SITE_1"]
)
async def test_an_unknown_site_is_not_found(person: Person, id_: str):
    for path in (f"/v1/sites/{id_}", f"/v1/sites/{id_}/capabilities"):
        assert code_of(await person.session.get(path)) == "site.not_found"
    for action in ("restart", "recover"):
        assert code_of(await person.session.post(f"/v1/sites/{id_}/{action}")) == "site.not_found"


async def test_a_list_is_newest_first_and_pagination_returns_every_site_once(
    person: Person, stranger: Person, driver: SiteDriver
):
    mine = [(await driver.insert_site(account=person.id))[0] for _ in range(7)]
    await driver.insert_site(account=stranger.id)
    listed, cursor = list[str](), None
    while True:
        params = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = (await person.session.get("/v1/sites", params=params)).json()
        listed += [each["id"] for each in page["data"]]
        cursor = page["pagination"]["next_cursor"]
        if not page["pagination"]["has_more"]:
            break
    assert listed == mine[::-1]
    assert cursor is None


async def test_a_billing_member_sees_no_sites_of_the_team(
    person: Person, stranger: Person, driver: SiteDriver
):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, stranger.id)
        await teams.insert_member(tx, team, person.id, Role.BILLING)
    site, _ = await driver.insert_site(team=team)
    assert code_of(await person.session.get(f"/v1/sites/{site}")) == "site.not_found"
    assert (await person.session.get("/v1/sites")).json()["data"] == []


@pytest.mark.parametrize(
    ("version", "names"),
    [("2026-06-23", False), ("2026-07-02", False), ("2026-07-04", True), ("2026-07-05", True)],
)
async def test_results_of_jobs_contain_new_ids_only_in_newer_api_versions(
    person: Person, driver: SiteDriver, version: str, names: bool
):
    site, _ = await driver.insert_site(account=person.id)
    made = {"deployment_id": "dep_1", "build_id": "build_1", "artifact_id": "art_1", "release_id": "rel_1"}
    kept = {"url": "http://a.example/", "commit": "abc", "env_id": "env_1"}
    async with person.transaction() as tx:
        job = await teams.insert_job(tx, site, person.id)
        await tx.run("update jobs set status = 'succeeded', result = $2 where id = $1", job, {**made, **kept})
    headers = {"api-version": version}
    read = await person.session.get(f"/v1/jobs/{job}", headers=headers)
    listed = await person.session.get("/v1/jobs", headers=headers)
    for found in (read.json()["data"], listed.json()["data"][0]):
        assert found["result"] == ({**made, **kept} if names else kept)
    assert ("deprecation" in read.headers, "sunset" in read.headers) == (not names, not names)
