"""A site that could never work is refused at once, and one that never worked costs nothing."""

from datetime import timedelta

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.control.nodes.rules import AVAILABLE_FOR
from stead.protocol.commands import Heartbeat
from stead.protocol.work.base import tag_of
from stead.protocol.work.kinds import HOSTING
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver, create_site, request_site
from tests.enrolled_nodes import record_node
from tests.people import Person

STATIC_ONLY = "moon-base"


@pytest.fixture
async def static_node(plane: ControlPlane, node: str) -> str:
    """A node that runs static sites only, in a region of its own."""
    work = tuple(tag_of(kind) for kind in HOSTING)
    heartbeat = Heartbeat("node-moon", STATIC_ONLY, 100, 0, "0.1.0", work=work, runtimes=("static",))
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-moon", STATIC_ONLY)
        await nodes.set_draining(tx, "node-moon", draining=False)
        await nodes.record_heartbeat(tx, heartbeat)
    return "node-moon"


async def test_an_unknown_region_is_refused_with_those_that_there_are(person: Person, static_node: str):
    refused = await request_site(person.session, region="atlantis")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "region.unavailable", "region")
    assert "us-east" in error["message"]
    assert STATIC_ONLY in error["message"]
    assert (await request_site(person.session, region=STATIC_ONLY)).status_code == 202


async def test_a_runtime_without_a_node_is_refused_with_those_that_there_are(
    person: Person, static_node: str
):
    refused = await request_site(person.session, region=STATIC_ONLY, profile="vanilla")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "runtime.unavailable", "profile")
    assert error["message"].endswith("runs cms sites. Available: static.")
    assert (await person.session.get("/v1/sites")).json()["data"] == []
    simulated = await person.key("sites:write", mode="test")
    assert (await request_site(simulated, region=STATIC_ONLY, profile="vanilla")).status_code == 202


async def test_only_known_runtimes_and_builders_of_a_node_count(
    person: Person, plane: ControlPlane, static_node: str
):
    work = tuple(tag_of(kind) for kind in HOSTING)
    runtimes = ("static", "cms sites at https://phishing.example", "static")
    forged = Heartbeat(static_node, STATIC_ONLY, 100, 0, "1", work=work, runtimes=runtimes, builders=runtimes)
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, forged)
        stored = await tx.one(
            lambda *row: row, "select runtimes, builders from nodes where id = $1", static_node
        )
    assert stored == (["static"], ["static"])
    refused = await request_site(person.session, region=STATIC_ONLY, profile="vanilla")
    assert refused.json()["error"]["message"].endswith("Available: static.")


async def test_a_git_managed_site_needs_a_node_that_can_build_it(
    person: Person, plane: ControlPlane, node: str
):
    region, work = "dark-side", tuple(tag_of(kind) for kind in HOSTING)
    without = Heartbeat("node-dark", region, 100, 0, "0.1.0", work=work, runtimes=("cms", "static"))
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-dark", region)
        await nodes.set_draining(tx, "node-dark", draining=False)
        await nodes.record_heartbeat(tx, without)
    wanted = {"region": region, "profile": "git_managed", "git_repo": "https://git.example.com/o/site.git"}
    refused = await request_site(person.session, **wanted)
    assert code_of(refused) == "runtime.unavailable"
    assert "git-managed cms" in refused.json()["error"]["message"]
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, msgspec.structs.replace(without, builders=("cms",)))
    assert (await request_site(person.session, **wanted)).status_code == 202


@pytest.mark.parametrize("state", ["silent", "gone", "draining"])
async def test_a_region_is_offered_during_an_outage_but_not_after_its_end(
    person: Person, plane: ControlPlane, static_node: str, state: str
):
    async with plane.database.transaction() as tx:
        if state == "draining":
            await nodes.set_draining(tx, static_node, draining=True)
        else:
            ago = AVAILABLE_FOR * 2 if state == "gone" else timedelta(minutes=10)
            await tx.run("update nodes set last_seen_at = $2 where id = $1", static_node, tx.now - ago)
    answer = await request_site(person.session, region=STATIC_ONLY)
    assert code_of(answer) == ("202" if state == "silent" else "region.unavailable")


async def test_a_site_whose_first_deployment_failed_does_not_count(
    new_person: NewPerson, driver: SiteDriver, node: str, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    made = (await request_site(person.session)).json()["data"]
    assert code_of(await request_site(person.session)) == "quota.sites"
    await driver.fail_job(made["id"], "node.unavailable")
    failed = f"/v1/sites/{made['resource']['site_id']}"
    assert (await person.session.get(failed)).json()["data"]["status"] == "failed"
    second = await create_site(person.session)
    # There is no way around the quota: a restart takes the place that it needs.
    assert code_of(await person.session.post(f"{failed}/restart")) == "quota.sites"
    await driver.end_jobs(second["id"], "failed")
    await driver.set_status(second["id"], "deleted")
    assert (await person.session.post(f"{failed}/restart")).status_code == 202


async def test_failed_sites_cannot_all_be_restarted_at_once(
    new_person: NewPerson, driver: SiteDriver, node: str, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    failed = []
    for _ in range(2):
        made = (await request_site(person.session)).json()["data"]
        await driver.fail_job(made["id"], "node.unavailable")
        failed.append(f"/v1/sites/{made['resource']['site_id']}")
    assert (await person.session.post(f"{failed[0]}/restart")).status_code == 202
    assert code_of(await person.session.post(f"{failed[1]}/restart")) == "quota.sites"


async def test_a_site_that_fails_later_still_counts(
    new_person: NewPerson, driver: SiteDriver, node: str, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    made = (await request_site(person.session)).json()["data"]
    assert await driver.run_job(made["id"]) == "running"
    await driver.set_status(made["resource"]["site_id"], "failed")
    assert code_of(await request_site(person.session)) == "quota.sites"
