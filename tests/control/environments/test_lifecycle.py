"""The lifecycle of an environment: allowed actions, edge records and failures."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import get_args

import pytest

from stead.control.environments import service
from stead.control.environments.rules import NEXT_STATUSES, EnvironmentStatus, previous_statuses
from stead.protocol import edge_records
from stead.shared.ids import new_id
from tests.client import code_of
from tests.control.environments.conftest import NODE, HostedSite
from tests.control.site_driver import request_deletion

STATUSES: tuple[EnvironmentStatus, ...] = get_args(EnvironmentStatus)
VISIBLE_STATUSES = [status for status in STATUSES if status != "deleted"]
ALLOWED: dict[tuple[str, str], set[str]] = {
    ("DELETE", ""): {"running", "suspended", "failed"},
    ("POST", "/suspend"): {"running"},
    ("POST", "/resume"): {"suspended"},
}
STATUS_AFTER = {
    ("DELETE", ""): "deleting",
    ("POST", "/suspend"): "suspending",
    ("POST", "/resume"): "provisioning",
}
TYPES = {"DELETE": "environment.destroy", "/suspend": "environment.suspend", "/resume": "environment.resume"}


@pytest.mark.parametrize("status", VISIBLE_STATUSES)
@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_an_action_is_accepted_only_in_a_status_that_allows_it(
    site: HostedSite, method: str, action: str, status: str
):
    env = await site.insert_environment(status)
    answer = await site.request(method, f"/{env}{action}")
    after = await site.column(env, "status")
    if status in ALLOWED[method, action]:
        assert (answer.status_code, after) == (202, STATUS_AFTER[method, action])
        assert answer.json()["data"]["type"] == TYPES[action or method]
    else:
        assert (answer.status_code, code_of(answer), after) == (409, "environment.busy", status)
        assert await site.driver.fetch_value("select count(*) from jobs where site_id = $1", site.id) == 0


@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_one_of_ten_concurrent_requests_is_accepted(site: HostedSite, method: str, action: str):
    env = await site.insert_environment("suspended" if action == "/resume" else "running")
    answers = await asyncio.gather(*(site.request(method, f"/{env}{action}") for _ in range(10)))
    assert Counter(map(code_of, answers)) == {"202": 1, "environment.busy": 9}


async def test_a_destruction_repeated_with_its_key_is_answered_as_the_first_time(site: HostedSite):
    """Before and after the job: then the environment does not exist anymore."""
    env = await site.create_environment(type="branch", branch="short-lived")
    url, headers = f"/v1/sites/{site.id}/environments/{env}", {"idempotency-key": new_id("req")}
    first = await site.client.delete(url, headers=headers)
    assert first.status_code == 202, first.text
    waiting = await site.client.delete(url, headers=headers)
    await site.driver.run_job(first.json()["data"]["id"])
    gone = await site.client.delete(url, headers=headers)
    for again in (waiting, gone):
        assert (again.status_code, again.content) == (202, first.content)
        assert again.headers["idempotent-replayed"] == "true"
    for other in ({}, {"idempotency-key": new_id("req")}, {"idempotency-key": ""}):
        assert code_of(await site.client.delete(url, headers=other)) == "environment.not_found"


ON_PRODUCTION = [("DELETE", ""), *(("POST", f"/{action}") for action in ("suspend", "resume"))]


@pytest.mark.parametrize(("method", "action"), ON_PRODUCTION, ids=str)
async def test_production_cannot_be_destroyed_suspended_or_resumed(
    site: HostedSite, method: str, action: str
):
    refused = await site.request(method, f"/production{action}")
    assert (refused.status_code, code_of(refused)) == (409, "environment.is_production")


async def test_production_can_be_read_by_name_and_is_not_listed(site: HostedSite):
    found = await site.read("production")
    assert (found["type"], found["branch"], found["status"]) == ("production", None, "running")
    assert (await site.read(found["id"])) == found
    assert await site.list_ids() == []


@pytest.mark.parametrize("site_status", ["provisioning", "deleting", "deleted"])
@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_an_action_is_refused_while_the_site_is_unavailable(
    site: HostedSite, method: str, action: str, site_status: str
):
    env = await site.insert_environment("suspended" if action == "/resume" else "running")
    await site.driver.set_status(site.id, site_status)
    assert code_of(await site.request(method, f"/{env}{action}")) == "site.not_running"


def test_previous_statuses_are_the_inverse_of_next_statuses():
    assert set(NEXT_STATUSES) == set(STATUSES)
    for status in STATUSES:
        earlier = {each for each in STATUSES if status in NEXT_STATUSES[each]}
        assert earlier == set(previous_statuses(status))


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
async def test_a_status_change_that_is_not_allowed_is_not_made(
    site: HostedSite, status: str, wanted: EnvironmentStatus
):
    env = await site.insert_environment(status)
    async with site.driver.plane.database.transaction() as tx:
        moved = await service.set_status(tx, env, wanted)
    assert moved == (status == wanted or wanted in NEXT_STATUSES[status])  # type: ignore[index]
    assert await site.column(env, "status") == (wanted if moved else status)


async def test_a_status_change_that_the_rules_do_not_know_is_an_error(site: HostedSite):
    env = await site.insert_environment()
    async with site.driver.plane.database.transaction() as tx:
        with pytest.raises(LookupError):
            await service.set_status(tx, env, "suspended", after=("running",))


async def test_the_edges_know_that_an_environment_is_suspended(site: HostedSite):
    env = await site.create_environment(type="staging")
    await site.complete("POST", f"/{env}/suspend")
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == "suspended"
    assert (await site.read(env))["status"] == "suspended"
    await site.complete("POST", f"/{env}/resume")
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == "serving"
    assert (await site.read(env))["status"] == "running"
    assert await site.result_events(env) == ["env.created", "env.suspended", "env.resumed"]


async def test_a_failed_suspension_leaves_the_environment_running(site: HostedSite):
    env = await site.create_environment(type="staging")
    await site.fail("POST", f"/{env}/suspend")
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert (record.state, (await site.read(env))["status"]) == ("serving", "running")
    assert await site.result_events(env) == ["env.created", "env.failed"]


async def test_a_failed_resumption_leaves_the_environment_suspended(site: HostedSite):
    env = await site.create_environment(type="staging")
    await site.complete("POST", f"/{env}/suspend")
    await site.fail("POST", f"/{env}/resume")
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert (record.state, (await site.read(env))["status"]) == ("suspended", "suspended")


async def test_a_destroyed_environment_is_removed_and_its_branch_can_get_a_new_one(site: HostedSite):
    env = await site.create_environment(type="branch", branch="main")
    host = await site.column(env, "subdomain")
    await site.complete("DELETE", f"/{env}")
    assert site.host_record(host) is None
    assert site.record(env) is None
    assert await site.list_ids() == []
    assert code_of(await site.request("GET", f"/{env}")) == "environment.not_found"
    assert (await site.column(env, "status"), await site.column(env, "node_id")) == ("deleted", None)
    assert await site.result_events(env) == ["env.created", "env.destroyed"]
    again = await site.create_environment(type="branch", branch="main")
    assert (again != env, await site.column(again, "subdomain")) == (True, host)


async def test_a_failed_destruction_leaves_the_environment_unchanged(site: HostedSite):
    env = await site.create_environment(type="staging")
    host = await site.column(env, "subdomain")
    await site.fail("DELETE", f"/{env}")
    assert site.host_record(host) == edge_records.HostRecord(env, https=False)
    found = await site.read(env)
    assert (found["status"], found["status_reason"]) == ("running", None)
    assert await site.column(env, "node_id") == NODE


async def test_a_failed_destruction_keeps_the_reason_of_an_earlier_failure(site: HostedSite):
    env = await site.insert_environment("failed")
    await site.driver.execute("update environments set status_reason = 'It was so.' where id = $1", env)
    await site.fail("DELETE", f"/{env}")
    found = await site.read(env)
    assert (found["status"], found["status_reason"]) == ("failed", "It was so.")


async def test_a_renewed_lease_has_a_token_that_is_not_stored(site: HostedSite):
    env = await site.insert_environment()
    first, second = [await site.request("POST", f"/{env}/renew") for _ in range(2)]
    assert (first.status_code, second.status_code) == (200, 200)
    tokens = [each.json()["data"]["metrics_token"] for each in (first, second)]
    assert tokens[0] != tokens[1]
    assert all(token.startswith("stead_metrics_") for token in tokens)
    row = await site.driver.fetch_value("select to_jsonb(e)::text from environments e where id = $1", env)
    events = await site.driver.fetch_value(
        "select string_agg(data::text, '') from events where env_id = $1", env
    )
    assert not any(token in row + events for token in tokens)
    assert code_of(await site.client.as_(tokens[1]).get("/v1/sites")) == "auth.malformed"
    assert await site.result_events(env) == ["env.renewed"] * 2


@pytest.mark.parametrize("status", ["running", "suspended", "failed"])
async def test_environments_are_deleted_and_recovered_with_their_site(site: HostedSite, status: str):
    env = await site.create_environment(type="branch", branch="main")
    host = await site.column(env, "subdomain")
    await site.driver.execute("update environments set status = $2 where id = $1", env, status)
    deletion = await request_deletion(site.client, site.id, site.domain)
    await site.driver.run_job(deletion.json()["data"]["id"])
    assert set(site.driver.announced.values()) == {None}
    assert await site.list_ids() == []
    assert await site.column(env, "status") == "deleted"
    assert await site.driver.fetch_value("select forgotten from certificates where host = $1", host) is True
    recovery = await site.client.post(f"/v1/sites/{site.id}/recover")
    await site.driver.run_job(recovery.json()["data"]["id"])
    assert (await site.read(env))["status"] == status
    assert site.host_record(host) == edge_records.HostRecord(env, https=False)
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == ("suspended" if status == "suspended" else "serving")


async def test_an_environment_destroyed_earlier_is_not_recovered_with_its_site(site: HostedSite):
    env = await site.create_environment(type="staging")
    await site.complete("DELETE", f"/{env}")
    await site.driver.run_job(
        (await request_deletion(site.client, site.id, site.domain)).json()["data"]["id"]
    )
    await site.driver.run_job((await site.client.post(f"/v1/sites/{site.id}/recover")).json()["data"]["id"])
    assert await site.list_ids() == []


async def test_a_failed_recovery_leaves_all_environments_deleted(site: HostedSite):
    env = await site.create_environment(type="staging")
    await site.driver.run_job(
        (await request_deletion(site.client, site.id, site.domain)).json()["data"]["id"]
    )
    for ending in (site.driver.undo_job, site.driver.run_job):
        job = (await site.client.post(f"/v1/sites/{site.id}/recover")).json()["data"]["id"]
        if ending == site.driver.undo_job:
            await site.driver.run_first_step(job)
        await ending(job)
        left = "deleted" if ending == site.driver.undo_job else "running"
        assert await site.column(env, "status") == left


async def test_an_expired_site_is_purged_from_its_nodes_production_last(site: HostedSite):
    from stead.control.sites import service as sites

    env = await site.create_environment(type="staging")
    await site.driver.run_job(
        (await request_deletion(site.client, site.id, site.domain)).json()["data"]["id"]
    )
    await site.driver.execute(
        "update sites set recoverable_until = recoverable_until - $2::interval where id = $1",
        site.id,
        timedelta(days=31),
    )
    kinds = []
    for _ in range(2):
        async with site.driver.plane.database.transaction() as tx:
            await sites.purge_expired(tx)
        queued = "select id from jobs where site_id = $1 and status = 'queued'"
        job = await site.driver.fetch_value(queued, site.id)
        kinds.append(await site.driver.fetch_value("select params ->> 'kind' from jobs where id = $1", job))
        await site.driver.run_job(job)
    assert kinds == ["environment.destroy/purge", "site.delete/purge"]
    left = "select count(*) from environments where site_id = $1 and node_id is not null"
    assert await site.driver.fetch_value(left, site.id) == 0
    assert await site.column(env, "status") == "deleted"


async def test_a_configuration_change_probes_the_host_of_its_environment(site: HostedSite):
    from stead.control.configuration import workflows
    from stead.control.jobs.definition import NodeCommand
    from stead.protocol.work.hosting import Probe

    env = await site.create_environment(type="staging")
    changed = await site.request("PATCH", f"/{env}/config", {"performance": {"page_cache_ttl": 60}})
    job = changed.json()["data"]["id"]
    row = await site.driver.job_row(job)
    ask = workflows.CONFIGURE_ENVIRONMENT.steps["probe"].command
    assert ask is not None
    async with site.driver.plane.database.transaction() as tx:
        command = await ask(tx, workflows.CONFIGURE_ENVIRONMENT.read(row))
    assert isinstance(command, NodeCommand)
    assert command.work == Probe(await site.column(env, "subdomain"))
    assert command.environment == env
    await site.driver.run_job(job)
    await site.complete("POST", f"/{env}/suspend")
    changed = await site.request("PATCH", f"/{env}/config", {"performance": {"page_cache_ttl": 90}})
    job = changed.json()["data"]["id"]
    async with site.driver.plane.database.transaction() as tx:
        assert await ask(tx, workflows.CONFIGURE_ENVIRONMENT.read(await site.driver.job_row(job))) is None
