"""A site with a repository shows its placeholder page, then its branch is built automatically."""

import pytest

from stead.control.app import ControlPlane
from tests.control.site_driver import SiteDriver, new_domain, request_site
from tests.people import Person


@pytest.fixture
def driver(plane: ControlPlane) -> SiteDriver:
    return SiteDriver(plane)


async def _create_site(driver: SiteDriver, person: Person, **body: str) -> str:
    made = await request_site(person.session, new_domain(), **body)
    assert made.status_code == 202, made.text
    job = made.json()["data"]
    assert await driver.run_job(job["id"]) == "running"
    return str(job["resource"]["site_id"])


async def _builds(driver: SiteDriver, site: str) -> list[tuple[object, ...]]:
    async with driver.plane.database.reading() as tx:
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
async def test_the_first_build_is_queued_when_the_site_goes_live(
    driver: SiteDriver, person: Person, url: str
):
    site = await _create_site(driver, person, git_repo=url, git_branch="trunk")
    assert await _builds(driver, site) == [("trunk", None, True, "git", "queued")]


@pytest.mark.usefixtures("node")
async def test_the_default_branch_is_main(driver: SiteDriver, person: Person):
    site = await _create_site(driver, person, git_repo="https://git.example.com/o/site.git")
    assert (await _builds(driver, site))[0][0] == "main"


@pytest.mark.usefixtures("node")
async def test_a_site_without_a_repository_is_not_built(driver: SiteDriver, person: Person):
    assert await _builds(driver, await _create_site(driver, person)) == []


@pytest.mark.usefixtures("node")
async def test_branch_rules_apply_to_the_first_build(driver: SiteDriver, person: Person):
    made = await request_site(person.session, new_domain(), git_repo="https://git.example.com/o/site.git")
    site = made.json()["data"]["resource"]["site_id"]
    body = {"rules": [{"pattern": "main", "target": "ignore"}]}
    await person.session.request("PUT", f"/v1/sites/{site}/branch-routes", json=body)
    await driver.run_job(made.json()["data"]["id"])
    assert await _builds(driver, site) == []


@pytest.mark.usefixtures("node")
async def test_a_site_without_a_builder_goes_live_and_publishes_a_skipped_push(
    driver: SiteDriver, person: Person
):
    site = await _create_site(
        driver, person, profile="vanilla", git_repo="https://git.example.com/o/site.git"
    )
    assert await _builds(driver, site) == []
    assert "git.push_skipped" in await driver.event_types(site)


async def test_a_repeated_job_queues_one_build(driver: SiteDriver, person: Person, node: str):
    made = await request_site(person.session, new_domain(), git_repo="https://git.example.com/o/site.git")
    job = made.json()["data"]["id"]
    await driver.run_job(job)
    await driver.run_job(job)
    assert len(await _builds(driver, made.json()["data"]["resource"]["site_id"])) == 1
