"""A site with a repository shows its placeholder page, then its branch is built automatically."""

import pytest

from stead.control.app import ControlPlane
from tests.control.sites.estate import Estate, create, fresh
from tests.people import Person


@pytest.fixture
def estate(plane: ControlPlane) -> Estate:
    return Estate(plane)


async def _create_site(estate: Estate, person: Person, **body: str) -> str:
    made = await create(person.session, fresh(), **body)
    assert made.status_code == 202, made.text
    job = made.json()["data"]
    assert await estate.perform(job["id"]) == "running"
    return str(job["resource"]["site_id"])


async def _builds(estate: Estate, site: str) -> list[tuple[object, ...]]:
    async with estate.plane.database.reading() as tx:
        return await tx.all(
            lambda *row: row,
            "select b.ref, b.commit, b.auto_deploy, b.source, j.status from builds b"
            " join jobs j on j.id = b.job_id where b.site_id = $1",
            site,
        )


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    "url",
    ["https://git.example.com/o/site.git", "git@git.example.com:o/site.git", "ssh://git@h.example/s.git"],
)
async def test_the_first_build_is_queued_when_the_site_goes_live(estate: Estate, person: Person, url: str):
    site = await _create_site(estate, person, git_repo=url, git_branch="trunk")
    assert await _builds(estate, site) == [("trunk", None, True, "git", "queued")]


@pytest.mark.usefixtures("node")
async def test_the_default_branch_is_main(estate: Estate, person: Person):
    site = await _create_site(estate, person, git_repo="https://git.example.com/o/site.git")
    assert (await _builds(estate, site))[0][0] == "main"


@pytest.mark.usefixtures("node")
async def test_a_site_without_a_repository_is_not_built(estate: Estate, person: Person):
    assert await _builds(estate, await _create_site(estate, person)) == []


@pytest.mark.usefixtures("node")
async def test_branch_rules_apply_to_the_first_build(estate: Estate, person: Person):
    made = await create(person.session, fresh(), git_repo="https://git.example.com/o/site.git")
    site = made.json()["data"]["resource"]["site_id"]
    body = {"rules": [{"pattern": "main", "target": "ignore"}]}
    await person.session.request("PUT", f"/v1/sites/{site}/branch-routes", json=body)
    await estate.perform(made.json()["data"]["id"])
    assert await _builds(estate, site) == []


@pytest.mark.usefixtures("node")
async def test_a_site_without_a_builder_goes_live_and_publishes_a_skipped_push(
    estate: Estate, person: Person
):
    site = await _create_site(
        estate, person, profile="git_managed", git_repo="https://git.example.com/o/site.git"
    )
    assert await _builds(estate, site) == []
    assert "git.push_skipped" in await estate.events(site)


async def test_a_repeated_job_queues_one_build(estate: Estate, person: Person, node: str):
    made = await create(person.session, fresh(), git_repo="https://git.example.com/o/site.git")
    job = made.json()["data"]["id"]
    await estate.perform(job)
    await estate.perform(job)
    assert len(await _builds(estate, made.json()["data"]["resource"]["site_id"])) == 1
