"""What nobody visits is paused, what has lost its branch is ended, and both as late as was promised."""

from datetime import datetime, timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.environments import maintenance
from stead.protocol.commands import Activity
from stead.shared.clock import MovableClock
from tests.control.environments.conftest import NODE, Homestead

DAYS = 7


async def _tend(home: Homestead) -> None:
    """As a worker does: a batch a transaction, until there is none."""
    left = True
    while left:
        async with home.estate.plane.database.transaction() as tx:
            suspended = await maintenance.suspend_idle(tx, DAYS)
            left = suspended + await maintenance.destroy_without_branch(tx) > 0


async def _now(home: Homestead) -> datetime:
    async with home.estate.plane.database.reading() as tx:
        return tx.now


async def _visit(home: Homestead, env: str, moment: datetime, node: str = NODE) -> None:
    async with home.estate.plane.database.transaction() as tx:
        await maintenance.record_visits(tx, Activity(node, {env: moment.timestamp()}))


@pytest.mark.parametrize(("days", "status"), [(6.9, "running"), (7.1, "suspending")])
async def test_a_branch_that_was_never_visited_is_paused_after_a_week(
    home: Homestead, clock: MovableClock, days: float, status: str
):
    env = await home.made(type="branch", branch="main")
    clock.ahead = timedelta(days=days)
    await _tend(home)
    assert await home.row(env, "status") == status


async def test_a_visit_is_worth_another_week(home: Homestead, clock: MovableClock):
    env = await home.made(type="branch", branch="main")
    clock.ahead = timedelta(days=5)
    await _visit(home, env, await _now(home))
    clock.ahead = timedelta(days=11)
    await _tend(home)
    assert await home.row(env, "status") == "running"
    clock.ahead = timedelta(days=12.1)
    await _tend(home)
    assert await home.row(env, "status") == "suspending"
    job = await home.estate.value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await home.estate.perform(job)
    why = "select data ->> 'reason' from events where env_id = $1 and type = 'env.suspended'"
    assert await home.estate.value(why, env) == "It had no visitors for 7 days."


async def test_what_was_resumed_is_not_paused_at_once_again(home: Homestead, clock: MovableClock):
    env = await home.made(type="branch", branch="main")
    client = home.client.as_(await home.person.secret(expires_in_days=365))
    clock.ahead = timedelta(days=8)
    await _tend(home)
    job = await home.estate.value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await home.estate.perform(job)
    home.client = client
    await home.done("POST", f"/{env}/resume")
    await _tend(home)
    assert await home.row(env, "status") == "running"


async def test_staging_is_never_paused_by_itself(home: Homestead, clock: MovableClock):
    env = await home.made(type="staging")
    clock.ahead = timedelta(days=365)
    await _tend(home)
    assert await home.row(env, "status") == "running"


async def test_what_a_job_is_busy_with_is_left_in_peace(home: Homestead, clock: MovableClock):
    env = await home.made(type="branch", branch="main")
    await home.ask("PATCH", f"/{env}/config", {})
    clock.ahead = timedelta(days=8)
    await _tend(home)
    assert await home.row(env, "status") == "running"


async def test_the_last_visit_is_what_the_api_shows(home: Homestead):
    env = await home.made(type="branch", branch="main")
    assert (await home.read(env))["last_active"] is None
    now = await _now(home)
    await _visit(home, env, now)
    await _visit(home, env, now - timedelta(hours=1))
    found = (await home.read(env))["last_active"]
    assert datetime.fromisoformat(found) == now.replace(microsecond=now.microsecond // 1000 * 1000)


async def test_nobody_is_visited_in_the_future(home: Homestead):
    env = await home.made(type="branch", branch="main")
    await _visit(home, env, await _now(home) + timedelta(days=365))
    assert await home.row(env, "last_active") <= await _now(home)


async def _branch(home: Homestead, name: str, *, gone: bool) -> None:
    async with home.estate.plane.database.transaction() as tx:
        record = maintenance.record_branch_deleted if gone else maintenance.record_branch_exists
        await record(tx, home.id, name)


async def test_an_environment_outlives_its_branch_by_a_day(home: Homestead, clock: MovableClock):
    env = await home.made(type="branch", branch="main")
    other = await home.made(type="branch", branch="other")
    for _ in range(2):
        await _branch(home, "main", gone=True)
    assert await home.told(env) == ["env.created", "env.destroy_scheduled"]
    clock.ahead = timedelta(hours=23)
    await _tend(home)
    assert await home.row(env, "status") == "running"
    clock.ahead = timedelta(hours=25)
    await _tend(home)
    assert [await home.row(each, "status") for each in (env, other)] == ["deleting", "running"]
    job = await home.estate.value("select id from jobs where env_id = $1 and status = 'queued'", env)
    await home.estate.perform(job)
    assert await home.row(env, "status") == "deleted"
    why = "select data ->> 'reason' from events where env_id = $1 and type = 'env.destroyed'"
    assert await home.estate.value(why, env) == "Its branch was deleted."


@pytest.mark.parametrize("status", ["suspended", "failed"])
async def test_whatever_it_is_it_goes_with_its_branch(home: Homestead, clock: MovableClock, status: str):
    env = await home.clone(status, "main")
    await _branch(home, "main", gone=True)
    clock.ahead = timedelta(hours=25)
    await _tend(home)
    assert await home.row(env, "status") == "deleting"


async def test_a_branch_that_comes_back_keeps_its_environment(home: Homestead, clock: MovableClock):
    env = await home.made(type="branch", branch="main")
    await _branch(home, "main", gone=True)
    for _ in range(2):
        await _branch(home, "main", gone=False)
    clock.ahead = timedelta(days=2)
    await _tend(home)
    assert await home.row(env, "status") == "running"
    assert (await home.told(env))[1:] == ["env.destroy_scheduled", "env.destroy_called_off"]


async def test_a_branch_of_another_site_is_another_branch(
    home: Homestead, neighbour: Homestead, plane: ControlPlane
):
    env = await neighbour.made(type="branch", branch="main")
    await _branch(home, "main", gone=True)
    assert await neighbour.row(env, "branch_gone_at") is None


async def test_an_environment_says_that_its_node_is_lost_and_runs_again_with_it(home: Homestead):
    env, paused = await home.clone(), await home.clone("suspended", "paused")
    broken = await home.clone("failed", "broken")
    seen: list[str] = []
    for heard in ("last_seen_at - interval '1 hour'", "now()"):
        async with home.estate.plane.database.transaction() as tx:
            await tx.run(f"update nodes set last_seen_at = {heard} where id = $1", NODE)
            await maintenance.update_reachability(tx)
        seen.append(f"{await home.row(env, 'status')}: {await home.row(env, 'status_reason')}")
        assert await home.row(paused, "status") == "suspended"
        assert await home.row(broken, "status") == "failed"
    assert seen == [f"failed: The node {NODE} is unreachable.", "running: None"]
