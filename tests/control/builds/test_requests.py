"""Requests for builds: what is refused before a job is queued."""

from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.shared.ids import new_id
from tests import teams
from tests.client import Client
from tests.control.conftest import Pin
from tests.people import Person


async def _site(plane: ControlPlane, person: Person, **columns: Any) -> tuple[str, str]:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        for name, value in columns.items():
            await tx.run(f"update sites set {name} = $2 where id = $1", site, value)
        return site, await teams.environment_of(tx, site)


async def _request_refusal(client: Client, site: str, env: str = "production", **body: Any) -> dict[str, Any]:
    wanted = {"builder": "static", **body}
    answer = await client.post(f"/v1/sites/{site}/environments/{env}/builds", json=wanted)
    assert answer.status_code >= 400, answer.text
    return dict(answer.json()["error"])


async def _create_build(client: Client, site: str, env: str = "production", **body: Any) -> dict[str, Any]:
    """Requests a build and returns its representation."""
    path = f"/v1/sites/{site}/environments/{env}/builds"
    answer = await client.post(path, json={"builder": "static", **body})
    assert answer.status_code == 202, answer.text
    job = answer.json()["data"]
    assert (job["type"], job["resource"]["type"]) == ("build.run", "build")
    found = await client.get(f"{path}/{job['resource']['id']}")
    assert found.json()["data"]["job_id"] == job["id"]
    return dict(found.json()["data"])


async def test_an_upload_of_another_tenant_is_refused_like_an_unknown_one(
    plane: ControlPlane, person: Person, stranger: Person
):
    mine, _ = await _site(plane, person)
    theirs, _ = await _site(plane, stranger)
    async with plane.database.transaction() as tx:
        upload, own = await teams.insert_upload(tx, theirs), await teams.insert_upload(tx, mine)
    answers = [
        await _request_refusal(person.session, mine, source=source)
        for source in (upload, new_id("upl"), "upl_x")
    ]
    for answer in answers:
        assert (answer["code"], answer["param"]) == ("request.field_invalid", "source")
    assert len({answer["message"] for answer in answers}) == 1
    assert (await _create_build(person.session, mine, source=own))["source"] == own


async def test_an_upload_of_another_site_of_the_same_owner_is_request_refusal(
    plane: ControlPlane, person: Person
):
    one, _ = await _site(plane, person)
    two, _ = await _site(plane, person)
    async with plane.database.transaction() as tx:
        upload = await teams.insert_upload(tx, one)
    assert (await _request_refusal(person.session, two, source=upload))["param"] == "source"


async def test_a_build_of_another_environment_is_not_found(plane: ControlPlane, person: Person):
    site, env = await _site(plane, person)
    async with plane.database.transaction() as tx:
        staging = await teams.insert_environment(tx, site)
        build = await teams.insert_build(tx, site, env)
    found = await person.session.get(f"/v1/sites/{site}/environments/{staging}/builds/{build}")
    assert (found.status_code, found.json()["error"]["code"]) == (404, "build.not_found")
    assert (await person.session.get(f"/v1/sites/{site}/environments/{env}/builds/{build}")).is_success


async def test_a_key_pinned_to_an_environment_builds_only_for_it(
    plane: ControlPlane, person: Person, pinned: Pin
):
    site, env = await _site(plane, person)
    async with plane.database.transaction() as tx:
        staging = await teams.insert_environment(tx, site)
    key = await pinned(person, ("environment", staging))
    source = "https://example.com/site.zip"
    assert (await _create_build(key, site, staging, source=source))["env_id"] == staging
    assert (await _request_refusal(key, site, env, source=source))["code"] == "environment.not_found"


@pytest.mark.parametrize(
    "source",
    [
        *(
            "http://example.com/a.zip",
            "ftp://example.com/a.zip",
            "file:///etc/passwd",
            "site.zip",
            "https://",
        ),
        *("https://user:password@example.com/a.zip", "https://example.com:x/a.zip", "https:///a.zip"),
    ],
)
async def test_a_source_is_an_upload_or_an_https_url_without_credentials(
    plane: ControlPlane, person: Person, source: str
):
    site, _ = await _site(plane, person)
    refused = await _request_refusal(person.session, site, source=source)
    assert (refused["code"], refused["param"]) == ("request.field_invalid", "source")


async def test_a_site_without_a_repository_needs_a_source(plane: ControlPlane, person: Person):
    site, _ = await _site(plane, person)
    refused = await _request_refusal(person.session, site)
    assert (refused["code"], refused["param"]) == ("request.field_invalid", "source")
    assert "repository" in refused["message"]


async def test_a_build_uses_the_branch_of_its_environment_by_default(plane: ControlPlane, person: Person):
    site, _ = await _site(plane, person, git_repo="https://git.example.com/site.git", git_branch="trunk")
    async with plane.database.transaction() as tx:
        branch = await teams.insert_environment(tx, site, branch="feature/x")
    assert (await _create_build(person.session, site))["ref"] == "trunk"
    assert (await _create_build(person.session, site, branch))["ref"] == "feature/x"
    build = await _create_build(person.session, site, source_ref="v2", commit="9fceb02d")
    assert (build["ref"], build["commit"], build["source"]) == ("v2", "9fceb02d", "git")


async def test_an_archive_has_no_branch(plane: ControlPlane, person: Person):
    site, _ = await _site(plane, person, git_repo="https://git.example.com/site.git", git_branch="main")
    source = "https://example.com/site.zip"
    assert (await _create_build(person.session, site, source=source))["ref"] is None
    assert (await _request_refusal(person.session, site, source=source, commit="9fceb02d"))[
        "param"
    ] == "source"


@pytest.mark.parametrize("builder", ["cms", "wasm", "Static", "x"])
async def test_a_static_site_accepts_only_the_static_builder(
    plane: ControlPlane, person: Person, builder: str
):
    site, _ = await _site(plane, person)
    refused = await _request_refusal(
        person.session, site, builder=builder, source="https://example.com/a.zip"
    )
    assert (refused["code"], refused["param"]) == ("request.field_invalid", "builder")


@pytest.mark.parametrize(("profile", "accepted"), [("git_managed", True), ("vanilla", False)])
async def test_of_the_sites_with_wordpress_only_git_managed_ones_are_built(
    plane: ControlPlane, person: Person, profile: str, *, accepted: bool
):
    site, _ = await _site(plane, person, profile=profile, runtime="cms")
    wanted = {"builder": "cms", "source": "https://example.com/a.zip"}
    if accepted:
        assert (await _create_build(person.session, site, **wanted))["builder"] == "cms"
        wanted["builder"] = "static"
    assert (await _request_refusal(person.session, site, **wanted))["param"] == "builder"


@pytest.mark.parametrize(
    ("table", "status"), [("environments", "suspended"), ("sites", "deleting"), ("sites", "deleted")]
)
async def test_a_build_requires_a_running_environment(
    plane: ControlPlane, person: Person, table: str, status: str
):
    site, env = await _site(plane, person)
    async with plane.database.transaction() as tx:
        key = env if table == "environments" else site
        await tx.run(f"update {table} set status = $2 where id = $1", key, status)
    refused = await _request_refusal(person.session, site, source="https://example.com/a.zip")
    assert refused["code"] == "environment.not_ready"
    assert status in refused["message"]


async def test_builds_are_listed_newest_first(plane: ControlPlane, person: Person):
    site, _ = await _site(plane, person)
    made = [
        (await _create_build(person.session, site, source="https://example.com/a.zip"))["id"]
        for _ in range(3)
    ]
    path = f"/v1/sites/{site}/environments/production/builds"
    page = (await person.session.get(path, params={"limit": 2})).json()
    rest = (
        await person.session.get(path, params={"limit": 2, "cursor": page["pagination"]["next_cursor"]})
    ).json()
    assert [each["id"] for each in [*page["data"], *rest["data"]]] == made[::-1]


async def test_a_build_that_is_cancelled_while_queued_has_failed(plane: ControlPlane, person: Person):
    site, _ = await _site(plane, person)
    build = await _create_build(person.session, site, source="https://example.com/a.zip")
    assert (await person.session.post(f"/v1/jobs/{build['job_id']}/cancel")).is_success
    path = f"/v1/sites/{site}/environments/production/builds/{build['id']}"
    found = (await person.session.get(path)).json()["data"]
    assert (found["status"], found["error"]) == ("failed", "The job was cancelled.")
