"""Idle environments are suspended, those without a branch destroyed, those on lost nodes failed."""

from datetime import datetime, timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.environments import maintenance
from stead.control.jobs import service as jobs
from stead.control.jobs.rules import MAX_PLATFORM_QUEUED, MAX_QUEUED
from stead.control.sites import service as sites
from stead.protocol.commands import Activity
from stead.shared.clock import MovableClock
from tests import teams
from tests.control.environments.conftest import NODE, HostedSite

DAYS = 7


async def _maintain(site: HostedSite) -> None:
    """Like a worker: one batch per transaction, until nothing is left."""
    left = True
    while left:
        async with site.driver.plane.database.transaction() as tx:
            suspended = await maintenance.suspend_idle(tx, DAYS)
            left = suspended + await maintenance.destroy_without_branch(tx) > 0


async def _now(site: HostedSite) -> datetime:
    async with site.driver.plane.database.reading() as tx:
        return tx.now


async def _visit(site: HostedSite, env: str, moment: datetime, node: str = NODE) -> None:
    async with site.driver.plane.database.transaction() as tx:
        await maintenance.record_visits(tx, Activity(node, {env: moment.timestamp()}))


@pytest.mark.parametrize(("days", "status"), [(6.9, "running"), (7.1, "suspending")])
async def test_a_branch_environment_without_visits_is_suspended_after_a_week(
    site: HostedSite, clock: MovableClock, days: float, status: str
):
    env = await site.create_environment(type="branch", branch="main")
    clock.ahead = timedelta(days=days)
    await _maintain(site)
    assert await site.column(env, "status") == status


async def test_a_visit_postpones_the_suspension_by_a_week(site: HostedSite, clock: MovableClock):
    env = await site.create_environment(type="branch", branch="main")
    clock.ahead = timedelta(days=5)
    await _visit(site, env, await _now(site))
    clock.ahead = timedelta(days=11)
    await _maintain(site)
    assert await site.column(env, "status") == "running"
    clock.ahead = timedelta(days=12.1)
    await _maintain(site)
    assert await site.column(env, "status") == "suspending"
    job = await site.driver.fetch_value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await site.driver.run_job(job)
    why = "select data ->> 'reason' from events where env_id = $1 and type = 'env.suspended'"
    assert await site.driver.fetch_value(why, env) == "It had no visitors for 7 days."


async def test_a_resumed_environment_is_not_suspended_again_immediately(
    site: HostedSite, clock: MovableClock
):
    env = await site.create_environment(type="branch", branch="main")
    client = site.client.as_(await site.person.secret(expires_in_days=365))
    clock.ahead = timedelta(days=8)
    await _maintain(site)
    job = await site.driver.fetch_value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await site.driver.run_job(job)
    site.client = client
    await site.complete("POST", f"/{env}/resume")
    await _maintain(site)
    assert await site.column(env, "status") == "running"


async def test_staging_is_never_suspended_automatically(site: HostedSite, clock: MovableClock):
    env = await site.create_environment(type="staging")
    clock.ahead = timedelta(days=365)
    await _maintain(site)
    assert await site.column(env, "status") == "running"


async def test_an_environment_with_an_unfinished_job_is_not_suspended(site: HostedSite, clock: MovableClock):
    env = await site.create_environment(type="branch", branch="main")
    await site.request("PATCH", f"/{env}/config", {"performance": {"page_cache_ttl": 60}})
    clock.ahead = timedelta(days=8)
    await _maintain(site)
    assert await site.column(env, "status") == "running"


async def test_the_api_returns_the_time_of_the_latest_visit(site: HostedSite):
    env = await site.create_environment(type="branch", branch="main")
    assert (await site.read(env))["last_active"] is None
    now = await _now(site)
    await _visit(site, env, now)
    await _visit(site, env, now - timedelta(hours=1))
    found = (await site.read(env))["last_active"]
    assert datetime.fromisoformat(found) == now.replace(microsecond=now.microsecond // 1000 * 1000)


async def test_a_visit_in_the_future_counts_as_now(site: HostedSite):
    env = await site.create_environment(type="branch", branch="main")
    await _visit(site, env, await _now(site) + timedelta(days=365))
    assert await site.column(env, "last_active") <= await _now(site)


async def _record_branch(site: HostedSite, name: str, *, deleted: bool) -> None:
    async with site.driver.plane.database.transaction() as tx:
        record = maintenance.record_branch_deleted if deleted else maintenance.record_branch_exists
        await record(tx, site.id, name)


async def test_an_environment_is_destroyed_a_day_after_its_branch_was_deleted(
    site: HostedSite, clock: MovableClock
):
    env = await site.create_environment(type="branch", branch="main")
    other = await site.create_environment(type="branch", branch="other")
    for _ in range(2):
        await _record_branch(site, "main", deleted=True)
    assert await site.result_events(env) == ["env.created", "env.destroy_scheduled"]
    clock.ahead = timedelta(hours=23)
    await _maintain(site)
    assert await site.column(env, "status") == "running"
    clock.ahead = timedelta(hours=25)
    await _maintain(site)
    assert [await site.column(each, "status") for each in (env, other)] == ["deleting", "running"]
    job = await site.driver.fetch_value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await site.driver.run_job(job)
    assert await site.column(env, "status") == "deleted"
    why = "select data ->> 'reason' from events where env_id = $1 and type = 'env.destroyed'"
    assert await site.driver.fetch_value(why, env) == "Its branch was deleted."


@pytest.mark.parametrize("status", ["suspended", "failed"])
async def test_suspended_and_failed_environments_are_destroyed_after_their_branch_too(
    site: HostedSite, clock: MovableClock, status: str
):
    env = await site.insert_environment(status, "main")
    await _record_branch(site, "main", deleted=True)
    clock.ahead = timedelta(hours=25)
    await _maintain(site)
    assert await site.column(env, "status") == "deleting"


async def test_a_branch_that_is_pushed_again_keeps_its_environment(site: HostedSite, clock: MovableClock):
    env = await site.create_environment(type="branch", branch="main")
    await _record_branch(site, "main", deleted=True)
    for _ in range(2):
        await _record_branch(site, "main", deleted=False)
    clock.ahead = timedelta(days=2)
    await _maintain(site)
    assert await site.column(env, "status") == "running"
    assert (await site.result_events(env))[1:] == ["env.destroy_scheduled", "env.destroy_called_off"]


async def test_the_deletion_of_a_branch_does_not_affect_other_sites(
    site: HostedSite, other_site: HostedSite, plane: ControlPlane
):
    env = await other_site.create_environment(type="branch", branch="main")
    await _record_branch(site, "main", deleted=True)
    assert await other_site.column(env, "branch_gone_at") is None


async def _update_reachability(site: HostedSite) -> int:
    async with site.driver.plane.database.transaction() as tx:
        return await maintenance.update_reachability(tx)


async def test_an_environment_fails_while_its_node_is_unreachable(site: HostedSite):
    env, paused = await site.insert_environment(), await site.insert_environment("suspended", "paused")
    broken = await site.insert_environment("failed", "broken")
    statuses: list[str] = []
    for last_heartbeat in ("last_seen_at - interval '1 hour'", "now()"):
        async with site.driver.plane.database.transaction() as tx:
            await tx.run(f"update nodes set last_seen_at = {last_heartbeat} where id = $1", NODE)
        while await _update_reachability(site):
            pass  # other tests have environments too, and a few are updated at a time
        statuses.append(f"{await site.column(env, 'status')}: {await site.column(env, 'status_reason')}")
        assert await site.column(paused, "status") == "suspended"
        assert await site.column(broken, "status") == "failed"
    assert statuses == [f"failed: The node {NODE} is unreachable.", "running: None"]


async def _fill_queue(site: HostedSite) -> None:
    """Queue as many jobs as one owner may have, all of them for another site of the same owner."""
    other, _ = await site.driver.insert_site(account=site.person.id)
    async with site.driver.plane.database.transaction() as tx:
        for _ in range(MAX_QUEUED):
            await teams.insert_job(tx, other, site.person.id)


async def test_an_owner_with_a_full_queue_stops_no_maintenance(
    site: HostedSite, other_site: HostedSite, clock: MovableClock
):
    """Neither that of others, nor its own: otherwise a full queue would keep environments running."""
    idle = [await each.insert_environment(branch="main") for each in (site, other_site)]
    gone = [await each.insert_environment("suspended", branch="gone") for each in (site, other_site)]
    await _fill_queue(site)
    for each in (site, other_site):
        async with each.driver.plane.database.transaction() as tx:
            await maintenance.record_branch_deleted(tx, each.id, "gone")
    clock.ahead = timedelta(days=8)
    await _maintain(site)
    assert [await site.column(env, "status") for env in idle] == ["suspending"] * 2
    assert [await site.column(env, "status") for env in gone] == ["deleting"] * 2


async def test_maintenance_queues_a_few_jobs_per_owner_and_leaves_room_for_their_own(
    site: HostedSite, other_site: HostedSite, clock: MovableClock
):
    for number in range(MAX_PLATFORM_QUEUED + 10):
        await site.insert_environment(branch=f"branch-{number}")
    neighbour = await other_site.insert_environment(branch="main")
    clock.ahead = timedelta(days=8)
    await _maintain(site)
    queued = "select count(*) from jobs where owner = $1 and status = 'queued'"
    assert await site.driver.fetch_value(queued, site.person.id) == MAX_PLATFORM_QUEUED
    assert await other_site.column(neighbour, "status") == "suspending"
    async with site.driver.plane.database.transaction() as tx:
        await jobs.require_room(tx, site.person.id)


async def test_an_owner_with_a_full_queue_stops_no_purge(site: HostedSite, other_site: HostedSite):
    for each in (site, other_site):
        await each.driver.execute(
            "update sites set status = 'deleted', recoverable_until = now() - interval '1 day' where id = $1",
            each.id,
        )
    await _fill_queue(site)
    async with site.driver.plane.database.transaction() as tx:
        await sites.purge_expired(tx)
    queued = "select count(*) from jobs where site_id = $1 and type = 'site.delete' and status = 'queued'"
    assert [await each.driver.fetch_value(queued, each.id) for each in (site, other_site)] == [1, 1]
