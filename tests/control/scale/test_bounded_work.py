"""Periodic tasks keep up with the fastest customers, and no transaction of theirs grows with the data."""

from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from stead.control.app import ControlPlane
from stead.control.artifacts import garbage_collection
from stead.control.feature import Feature
from stead.control.http.feature import FEATURE as HTTP
from stead.control.jobs import queue
from stead.control.jobs.feature import FEATURE as JOBS
from stead.control.jobs.rules import RETENTION
from stead.control.nodes import service as nodes
from stead.control.nodes.feature import FEATURE as NODES
from stead.control.settings import Settings
from stead.control.tasks import PeriodicTask
from stead.shared.clock import MovableClock
from stead.shared.ids import lower_bound
from tests import own_database, teams
from tests.client import Client
from tests.control.scale.explaining import cost_of, recorded_statements
from tests.people import Person, make_person

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

_JOBS = """
insert into jobs (id, type, status, site_id, owner, scope, resource, params, created_at, dispatched_at)
select $1 || lpad(to_hex(n), 16, '0'), 'site.restart', $2, $3, 'nobody', 'sites:write', '{}', '{}',
  $4::timestamptz, $4 from generate_series(1, $5::int) n
"""


@pytest.fixture(scope="module")
async def owner(plane: ControlPlane, anonymous: Client) -> Person:
    return await make_person(plane, anonymous)


async def _run(plane: ControlPlane, feature: Feature, name: str) -> None:
    """Run a periodic task once, as a worker does."""
    services: Any = SimpleNamespace(database=plane.database, could_hear_nodes_for=lambda _: True)
    assert feature.tasks is not None
    [task] = [each for each in feature.tasks(services) if each.name == name]
    assert isinstance(task, PeriodicTask)
    await task.run()


async def test_one_run_removes_the_idempotency_records_of_the_fastest_plan(
    plane: ControlPlane, clock: MovableClock
):
    """The task runs once a minute."""
    async with plane.database.transaction() as tx:
        per_minute = await tx.value("select rate_write + rate_create from plans where name = 'business'")
        await tx.run(
            "insert into idempotency_records (name, digest, answer, created_at)"
            " select n::text::bytea, '', '', $1 from generate_series(1, $2::int) n",
            *(tx.now - 2 * teams.DAY, 2 * per_minute),
        )
    await _run(plane, HTTP, "idempotency.delete_expired")
    async with plane.database.reading() as tx:
        assert await tx.value("select count(*) from idempotency_records") == 0


async def test_jobs_are_removed_some_time_after_they_ended(plane: ControlPlane, owner: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=owner.id)
        old, new = tx.now - RETENTION - teams.DAY, tx.now - RETENTION + teams.DAY
        for moment, status, count in (
            (old, "succeeded", 1200),
            (old - teams.DAY, "running", 3),
            (new, "failed", 7),
        ):
            await tx.run(_JOBS, lower_bound("job", moment), status, site, moment, count)
        await tx.run("insert into job_steps select id, 'one' from jobs where site_id = $1", site)
    await _run(plane, JOBS, "jobs.remove_old")
    async with plane.database.reading() as tx:
        counts = "select status, count(*) from jobs where site_id = $1 group by 1 order by 1"
        left = await tx.all(lambda *row: row, counts, site)
        steps = await tx.value("select count(*) from job_steps")
    assert (left, steps) == ([("failed", 7), ("running", 3)], 10)
    with pytest.raises(asyncpg.RaiseError, match="never changes again"):
        async with plane.database.transaction() as tx:
            await tx.run("delete from jobs where site_id = $1", site)


async def test_running_jobs_are_checked_in_pages(plane: ControlPlane, owner: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=owner.id)
        moment = tx.now - teams.DAY
        await tx.run(_JOBS, lower_bound("job", moment), "running", site, moment, queue.PAGE_SIZE + 200)
        first = await queue.list_dispatched(tx, after=lower_bound("job", moment))
        second = await queue.list_dispatched(tx, after=first[-1])
        assert (len(first), len(second)) == (queue.PAGE_SIZE, 200)
        assert not set(first) & set(second)
        await tx.run("delete from jobs where site_id = $1", site)


async def test_the_loss_of_a_node_with_many_sites_is_recorded_in_small_transactions(
    plane: ControlPlane, owner: Person
):
    """A transaction with all of them would take longer than a worker may keep a connection."""
    sites = 10 * nodes.BATCH_SIZE
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into nodes (id, region, capacity, version, last_seen_at, created_at)"
            " values ('lost', 'nowhere', 1, '1', $1, $1)",
            tx.now - teams.DAY,
        )
        await tx.run(
            "insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status,"
            " created_at) select 'site_' || n, $1, 'live', 'lost-' || n, n || '.example', 'static', 'static',"
            " 'nowhere', 'running', $2 from generate_series(1, $3::int) n",
            *(owner.id, tx.now, sites),
        )
        await tx.run(
            "insert into environments (id, site_id, type, subdomain, status, node_id, created_at)"
            " select 'env_' || id, id, 'production', id, 'running', 'lost', $1 from sites"
            " where region = 'nowhere'",
            tx.now,
        )
    for type_, last_seen_at in (("site.unreachable", "last_seen_at"), ("site.reachable", "now()")):
        async with plane.database.transaction() as tx:
            await tx.run(f"update nodes set last_seen_at = {last_seen_at} where id = 'lost'")
        await _run(plane, NODES, "nodes.update_reachability")
        async with plane.database.reading() as tx:
            # Rows of one transaction have the same `xmin`.
            largest, total = await tx.one(
                lambda *row: row,
                "select max(n), sum(n) from"
                " (select count(*) as n from events where type = $1 group by xmin) each",
                type_,
            ) or (0, 0)
        assert total == sites
        assert largest <= nodes.BATCH_SIZE


async def test_artifacts_that_are_kept_do_not_make_a_collection_slower(
    plane: ControlPlane, settings: Settings, owner: Person, monkeypatch: pytest.MonkeyPatch
):
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status,"
            " created_at) select 'site_kept' || n, $1, 'live', 'kept-' || n, n || '.kept', 'static',"
            " 'static', 'here', 'running', $2 from generate_series(1, 5000) n",
            *(owner.id, tx.now),
        )
        await tx.run(
            "insert into artifacts (id, site_id, digest, serve_model, manifest, config, envelope, key_id,"
            " layer_digest, layer_size, created_at, built_at)"
            " select 'art_' || id, id, id, 'static', '', '', '', '', '', 0, $1, $1 from sites"
            " where region = 'here'",
            tx.now - 60 * teams.DAY,
        )
        await tx.run("analyze sites, artifacts")
        site = await teams.insert_site(tx, account=owner.id)
        for _ in range(12):
            await teams.insert_artifact(tx, site, built_at=tx.now - 60 * teams.DAY)
    with recorded_statements(monkeypatch) as statements:
        removed = await garbage_collection.remove_artifacts(plane.database)
    assert removed == 2
    costs = [(await cost_of(settings.database_url, [each], plan="generic")).rows for each in statements[:20]]
    assert max(costs) <= 20 * garbage_collection.BATCH_SIZE
