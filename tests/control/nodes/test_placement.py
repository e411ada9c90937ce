"""New environments, and those of lost nodes, are spread over the nodes that can run them. None goes to a node
that drains."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import cast

import pytest

from stead.control.app import ControlPlane
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.postgres import Deadlock, Tx
from stead.control.environments.relocation_store import HostedEnvironment
from stead.control.jobs.definition import Refused
from stead.control.node_removal import move_all
from stead.control.nodes import service as nodes
from stead.control.nodes.rules import AVAILABLE_FOR, LOST_AFTER
from stead.control.sites import relocation
from stead.control.sites.workflows import DELETE, _find_deleted_environment
from stead.protocol.commands import Heartbeat
from stead.protocol.work.base import tag_of
from stead.protocol.work.kinds import HOSTING
from stead.shared.runtimes import Runtime
from tests import own_database
from tests.client import Client
from tests.control.site_driver import SiteDriver, create_site, request_deletion, request_site
from tests.enrolled_nodes import record_node
from tests.people import Person, make_person

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

REGION = "us-east"
WORK = tuple(tag_of(kind) for kind in HOSTING)


@pytest.fixture
async def driver(plane: ControlPlane) -> SiteDriver:
    """On an installation without nodes."""
    driver = SiteDriver(plane)
    await driver.execute("update environments set node_id = null")
    await driver.execute("delete from nodes")
    return driver


@pytest.fixture
async def person(plane: ControlPlane, anonymous: Client) -> Person:
    return await make_person(plane, anonymous)


async def add_node(
    driver: SiteDriver,
    node: str,
    *runtimes: Runtime,
    region: str = REGION,
    capacity: int = 100,
    work: tuple[str, ...] = WORK,
) -> None:
    async with driver.plane.database.transaction() as tx:
        await record_node(tx, node, region)
        heartbeat = Heartbeat(node, region, capacity, 0, "0.1.0", work=work, runtimes=runtimes or ("static",))
        await nodes.record_heartbeat(tx, heartbeat)


async def place_sites(driver: SiteDriver, person: Person, count: int) -> Counter[str]:
    """How many of the new sites each node got. They are placed at the same time."""
    jobs = [(await request_site(person.session)).json()["data"] for _ in range(count)]
    await asyncio.gather(*(driver.run_first_step(job["id"]) for job in jobs))
    sql = "select node_id from environments where site_id = $1"
    return Counter([await driver.fetch_value(sql, job["resource"]["site_id"]) for job in jobs])


async def refusal(driver: SiteDriver, runtime: Runtime | None, region: str = REGION) -> tuple[str, str]:
    async with driver.plane.database.transaction() as tx:
        with pytest.raises(Refused) as refused:
            await nodes.choose_node(tx, region, runtime, waiting_since=tx.now - timedelta(hours=1))
    return refused.value.code, refused.value.reason


async def test_sites_are_spread_by_the_share_of_the_capacity_that_is_used(driver: SiteDriver, person: Person):
    for node, capacity in (("small", 10), ("large", 20), ("large-too", 20)):
        await add_node(driver, node, capacity=capacity)
    assert await place_sites(driver, person, 10) == {"small": 2, "large": 4, "large-too": 4}


async def test_a_draining_node_keeps_its_sites_and_gets_no_new_ones(driver: SiteDriver, person: Person):
    for node in ("stays", "drains"):
        await add_node(driver, node)
    assert await place_sites(driver, person, 4) == {"stays": 2, "drains": 2}
    async with driver.plane.database.transaction() as tx:
        await nodes.set_draining(tx, "drains", draining=True)
    assert await place_sites(driver, person, 3) == {"stays": 3}
    # Its heartbeats change nothing of that.
    await add_node(driver, "drains")
    assert await place_sites(driver, person, 1) == {"stays": 1}
    assert await driver.fetch_value("select count(*) from environments where node_id = 'drains'") == 2
    async with driver.plane.database.transaction() as tx:
        await nodes.set_draining(tx, "drains", draining=False)
    assert await place_sites(driver, person, 4) == {"drains": 4}


async def test_a_full_node_gets_nothing(driver: SiteDriver, person: Person):
    await add_node(driver, "tiny", capacity=1)
    await add_node(driver, "large", capacity=100)
    assert await place_sites(driver, person, 6) == {"tiny": 1, "large": 5}


async def test_an_owner_who_creates_and_deletes_sites_takes_no_capacity_from_others(
    driver: SiteDriver, person: Person
):
    """A deleted site stays on its node for thirty days, but nothing of it runs."""
    await add_node(driver, "tiny", capacity=2)
    for _ in range(5):
        site, _ = await driver.insert_site("deleted", account=person.id)
        await driver.execute(
            "update environments set node_id = 'tiny', status = 'deleted' where site_id = $1", site
        )
    assert await place_sites(driver, person, 2) == {"tiny": 2}
    code, _ = await refusal(driver, "static")
    assert code == "node.unavailable"


async def test_a_site_goes_to_a_node_that_runs_it(driver: SiteDriver, person: Person):
    await add_node(driver, "for-cms", "cms")
    await add_node(driver, "for-static", "static", capacity=10)
    await add_node(driver, "outdated", "static", work=("ensure_environment", "probe"))
    assert await place_sites(driver, person, 5) == {"for-static": 5}
    async with driver.plane.database.transaction() as tx:
        since = tx.now - timedelta(hours=1)
        # Not even if it is the node of production.
        chosen = await nodes.choose_node(tx, REGION, "static", waiting_since=since, prefer="for-cms")
        assert chosen == "for-static"
        # Every node can simulate every runtime.
        assert await nodes.choose_node(tx, REGION, None, waiting_since=since) in {"for-cms", "outdated"}


async def test_the_error_names_the_runtime_and_what_is_available(driver: SiteDriver):
    await add_node(driver, "for-cms", "cms")
    await add_node(driver, "for-all", "static", "cms", region="eu-west")
    await add_node(driver, "lost", "static")
    async with driver.plane.database.transaction() as tx:
        await tx.run("update nodes set last_seen_at = $1 where id = 'lost'", tx.now - LOST_AFTER)
    code, message = await refusal(driver, "static")
    assert code == "node.unavailable"
    assert message == (
        "No node of the region us-east that runs static sites is reachable and has free capacity."
        " Available: cms in eu-west, us-east; static in eu-west."
    )
    async with driver.plane.database.transaction() as tx:
        await tx.run("update nodes set last_seen_at = $1", tx.now - LOST_AFTER)
    _, message = await refusal(driver, None)
    assert message.endswith(
        "that runs simulated sites is reachable and has free capacity. Available: nothing."
    )


async def test_a_runtime_is_available_while_some_node_runs_it(driver: SiteDriver, person: Person):
    async def list_available() -> set[str]:
        found = (await person.session.get("/v1/runtimes")).json()["data"]["runtimes"]
        assert {each["status"] for each in found} <= {"available", "planned"}
        return {each["runtime"] for each in found if each["status"] == "available"}

    assert await list_available() == set()
    await add_node(driver, "for-static", "static")
    await add_node(driver, "for-cms", "cms", region="eu-west")
    await add_node(driver, "outdated", "wasm", work=("ensure_environment",))
    assert await list_available() == {"static", "cms"}
    async with driver.plane.database.transaction() as tx:
        await nodes.set_draining(tx, "for-static", draining=True)
        await tx.run("update nodes set last_seen_at = $1 where id = 'for-cms'", tx.now - AVAILABLE_FOR)
    assert await list_available() == set()


async def test_an_environment_that_changes_while_others_are_moved_is_not_left_on_the_node(
    driver: SiteDriver, person: Person, monkeypatch: pytest.MonkeyPatch
):
    """The job that waited for the node is cancelled, and ends between the list and the move, or during it:
    then each waits for a row that the other has locked, and PostgreSQL ends one of the two."""
    site = (await create_site(person.session))["id"]
    for node in ("lost", "living"):
        await add_node(driver, node)
    await driver.end_jobs(site)
    await driver.set_status(site, "deleting")
    await driver.execute(
        "update environments set node_id = 'lost', status = 'provisioning' where site_id = $1", site
    )
    await driver.execute("update nodes set draining = true where id = 'lost'")
    listing = relocation.list_hosted

    async def list_before_a_job_ends(tx: Tx, node: str, *, after: str, limit: int) -> list[str]:
        found = await listing(tx, node, after=after, limit=limit)
        await driver.set_status(site, "running")
        await driver.execute("update environments set status = 'running' where site_id = $1", site)
        return found

    moving = relocation.move
    deadlocks = [Deadlock(), Deadlock()]

    async def move_after_deadlocks(tx: Tx, env: HostedEnvironment, node: str) -> bool:
        if deadlocks:
            raise deadlocks.pop()
        return await moving(tx, env, node)

    monkeypatch.setattr(relocation, "list_hosted", list_before_a_job_ends)
    monkeypatch.setattr(relocation, "move", move_after_deadlocks)
    # The feed is not used: an environment that a job restores is announced by the job.
    removal = await move_all(driver.plane.database, cast("EdgeFeed", None), "lost")
    assert (removal.restoring, removal.moved, removal.left) == (1, 0, 0)
    sql = "select node_id from environments where site_id = $1"
    assert await driver.fetch_value(sql, site) == "living"


@pytest.mark.parametrize("is_moved", [True, False])
async def test_a_site_is_restored_if_it_got_another_node_during_a_deletion_that_failed(
    driver: SiteDriver, person: Person, is_moved: bool
):
    """Whatever the job has asked of the new node, which may have refused it."""
    site = (await create_site(person.session))["id"]
    await driver.end_jobs(site)
    await driver.set_status(site, "running")
    for node in ("before", "after"):
        await add_node(driver, node)
    to_node = "update environments set node_id = $2, status = 'running' where site_id = $1"
    await driver.execute(to_node, site, "before")
    domain = await driver.fetch_value("select domain from sites where id = $1", site)
    deletion = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    if is_moved:
        await driver.execute(to_node, site, "after")
    async with driver.plane.database.transaction() as tx:
        # On its new node there is nothing of which a snapshot could be taken.
        job = DELETE.read(await driver.job_row(deletion))
        assert (await _find_deleted_environment(tx, job) is None) is is_moved
    await driver.fail_job(deletion, "job.cancelled")
    assert await driver.fetch_value("select status from sites where id = $1", site) == "running"
    sql = "select type from jobs where site_id = $1 and status = 'queued'"
    assert await driver.fetch_value(sql, site) == ("site.restart" if is_moved else None)


@pytest.mark.parametrize("is_moved", [True, False])
async def test_an_environment_is_restored_if_it_got_another_node_during_a_job_that_failed(
    driver: SiteDriver, person: Person, is_moved: bool
):
    site = await create_site(person.session)
    await driver.end_jobs(site["id"])
    await driver.set_status(site["id"], "running")
    for node in ("before", "after"):
        await add_node(driver, node)
    answer = await person.session.post(f"/v1/sites/{site['id']}/environments", json={"type": "staging"})
    assert answer.status_code == 202, answer.text
    env = answer.json()["data"]["resource"]["env_id"]
    await driver.end_jobs(site["id"])
    to_node = "update environments set node_id = $2, status = $3 where id = $1"
    await driver.execute(to_node, env, "before", "running")
    suspended = await person.session.post(f"/v1/sites/{site['id']}/environments/{env}/suspend")
    assert suspended.status_code == 202, suspended.text
    if is_moved:
        await driver.execute(to_node, env, "after", "suspending")
    await driver.fail_job(suspended.json()["data"]["id"], "job.cancelled")
    sql = "select type from jobs where site_id = $1 and status = 'queued'"
    assert await driver.fetch_value(sql, site["id"]) == ("environment.resume" if is_moved else None)
