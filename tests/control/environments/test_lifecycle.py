"""From which state an environment goes where, what visitors meet then, and what a failure leaves."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import get_args

import pytest

from stead.control.environments import service
from stead.control.environments.rules import NEXT_STATUSES, EnvironmentStatus, previous_statuses
from stead.protocol import edge_records
from tests.client import code_of
from tests.control.environments.conftest import NODE, Homestead
from tests.control.sites.estate import delete

STATUSES: tuple[EnvironmentStatus, ...] = get_args(EnvironmentStatus)
SHOWN = [status for status in STATUSES if status != "deleted"]
ALLOWED: dict[tuple[str, str], set[str]] = {
    ("DELETE", ""): {"running", "suspended", "failed"},
    ("POST", "/suspend"): {"running"},
    ("POST", "/resume"): {"suspended"},
}
BECOMES = {
    ("DELETE", ""): "deleting",
    ("POST", "/suspend"): "suspending",
    ("POST", "/resume"): "provisioning",
}
TYPES = {"DELETE": "environment.destroy", "/suspend": "environment.suspend", "/resume": "environment.resume"}


@pytest.mark.parametrize("status", SHOWN)
@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_an_action_is_taken_up_from_where_it_may_follow(
    home: Homestead, method: str, action: str, status: str
):
    env = await home.clone(status)
    answer = await home.ask(method, f"/{env}{action}")
    after = await home.row(env, "status")
    if status in ALLOWED[method, action]:
        assert (answer.status_code, after) == (202, BECOMES[method, action])
        assert answer.json()["data"]["type"] == TYPES[action or method]
    else:
        assert (answer.status_code, code_of(answer), after) == (409, "environment.busy", status)
        assert await home.estate.value("select count(*) from jobs where site_id = $1", home.id) == 0


@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_of_ten_at_once_one_is_taken_up(home: Homestead, method: str, action: str):
    env = await home.clone("suspended" if action == "/resume" else "running")
    answers = await asyncio.gather(*(home.ask(method, f"/{env}{action}") for _ in range(10)))
    assert Counter(map(code_of, answers)) == {"202": 1, "environment.busy": 9}


ON_PRODUCTION = [("DELETE", ""), *(("POST", f"/{action}") for action in ("suspend", "resume"))]


@pytest.mark.parametrize(("method", "action"), ON_PRODUCTION, ids=str)
async def test_production_is_not_for_that(home: Homestead, method: str, action: str):
    refused = await home.ask(method, f"/production{action}")
    assert (refused.status_code, code_of(refused)) == (409, "environment.is_production")


async def test_production_is_read_by_name_and_listed_nowhere(home: Homestead):
    found = await home.read("production")
    assert (found["type"], found["branch"], found["status"]) == ("production", None, "running")
    assert (await home.read(found["id"])) == found
    assert await home.listed() == []


@pytest.mark.parametrize("site", ["provisioning", "deleting", "deleted"])
@pytest.mark.parametrize(("method", "action"), ALLOWED, ids=str)
async def test_nothing_is_done_below_a_site_that_is_not_there(
    home: Homestead, method: str, action: str, site: str
):
    env = await home.clone("suspended" if action == "/resume" else "running")
    await home.estate.become(home.id, site)
    assert code_of(await home.ask(method, f"/{env}{action}")) == "site.not_running"


def test_what_may_follow_is_what_the_rules_say():
    assert set(NEXT_STATUSES) == set(STATUSES)
    for status in STATUSES:
        earlier = {each for each in STATUSES if status in NEXT_STATUSES[each]}
        assert earlier == set(previous_statuses(status))


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
async def test_a_move_that_may_not_follow_is_not_made(
    home: Homestead, status: str, wanted: EnvironmentStatus
):
    env = await home.clone(status)
    async with home.estate.plane.database.transaction() as tx:
        moved = await service.set_status(tx, env, wanted)
    assert moved == (status == wanted or wanted in NEXT_STATUSES[status])  # type: ignore[index]
    assert await home.row(env, "status") == (wanted if moved else status)


async def test_a_move_that_the_rules_do_not_know_cannot_be_asked_for(home: Homestead):
    env = await home.clone()
    async with home.estate.plane.database.transaction() as tx:
        with pytest.raises(LookupError):
            await service.set_status(tx, env, "suspended", after=("running",))


async def test_who_visits_a_suspended_environment_is_told_so(home: Homestead):
    env = await home.made(type="staging")
    await home.done("POST", f"/{env}/suspend")
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == "suspended"
    assert (await home.read(env))["status"] == "suspended"
    await home.done("POST", f"/{env}/resume")
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == "serving"
    assert (await home.read(env))["status"] == "running"
    assert await home.told(env) == ["env.created", "env.suspended", "env.resumed"]


async def test_a_suspension_that_failed_leaves_it_in_service(home: Homestead):
    env = await home.made(type="staging")
    await home.failed("POST", f"/{env}/suspend")
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert (record.state, (await home.read(env))["status"]) == ("serving", "running")
    assert await home.told(env) == ["env.created", "env.failed"]


async def test_a_resumption_that_failed_leaves_it_suspended(home: Homestead):
    env = await home.made(type="staging")
    await home.done("POST", f"/{env}/suspend")
    await home.failed("POST", f"/{env}/resume")
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert (record.state, (await home.read(env))["status"]) == ("suspended", "suspended")


async def test_what_is_destroyed_is_gone_and_its_branch_may_have_another(home: Homestead):
    env = await home.made(type="branch", branch="main")
    host = await home.row(env, "subdomain")
    await home.done("DELETE", f"/{env}")
    assert home.host(host) is None
    assert home.record(env) is None
    assert await home.listed() == []
    assert code_of(await home.ask("GET", f"/{env}")) == "environment.not_found"
    assert (await home.row(env, "status"), await home.row(env, "node_id")) == ("deleted", None)
    assert await home.told(env) == ["env.created", "env.destroyed"]
    again = await home.made(type="branch", branch="main")
    assert (again != env, await home.row(again, "subdomain")) == (True, host)


async def test_a_destruction_that_failed_leaves_it_as_it_was(home: Homestead):
    env = await home.made(type="staging")
    host = await home.row(env, "subdomain")
    await home.failed("DELETE", f"/{env}")
    assert home.host(host) == edge_records.HostRecord(env, https=False)
    found = await home.read(env)
    assert (found["status"], found["status_reason"]) == ("running", None)
    assert await home.row(env, "node_id") == NODE


async def test_a_failed_one_that_could_not_be_destroyed_still_says_why_it_failed(home: Homestead):
    env = await home.clone("failed")
    await home.estate.run("update environments set status_reason = 'It was so.' where id = $1", env)
    await home.failed("DELETE", f"/{env}")
    found = await home.read(env)
    assert (found["status"], found["status_reason"]) == ("failed", "It was so.")


async def test_a_lease_is_renewed_with_a_token_that_nobody_keeps(home: Homestead):
    env = await home.clone()
    first, second = [await home.ask("POST", f"/{env}/renew") for _ in range(2)]
    assert (first.status_code, second.status_code) == (200, 200)
    tokens = [each.json()["data"]["metrics_token"] for each in (first, second)]
    assert tokens[0] != tokens[1]
    assert all(token.startswith("stead_metrics_") for token in tokens)
    row = await home.estate.value("select to_jsonb(e)::text from environments e where id = $1", env)
    told = await home.estate.value("select string_agg(data::text, '') from events where env_id = $1", env)
    assert not any(token in row + told for token in tokens)
    assert code_of(await home.client.as_(tokens[1]).get("/v1/sites")) == "auth.malformed"
    assert await home.told(env) == ["env.renewed"] * 2


@pytest.mark.parametrize("status", ["running", "suspended", "failed"])
async def test_what_a_site_has_is_deleted_and_recovered_with_it(home: Homestead, status: str):
    env = await home.made(type="branch", branch="main")
    host = await home.row(env, "subdomain")
    await home.estate.run("update environments set status = $2 where id = $1", env, status)
    deletion = await delete(home.client, home.id, home.domain)
    await home.estate.perform(deletion.json()["data"]["id"])
    assert set(home.estate.announced.values()) == {None}
    assert await home.listed() == []
    assert await home.row(env, "status") == "deleted"
    assert await home.estate.value("select forgotten from certificates where host = $1", host) is True
    recovery = await home.client.post(f"/v1/sites/{home.id}/recover")
    await home.estate.perform(recovery.json()["data"]["id"])
    assert (await home.read(env))["status"] == status
    assert home.host(host) == edge_records.HostRecord(env, https=False)
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    assert record.state == ("suspended" if status == "suspended" else "serving")


async def test_what_was_destroyed_before_does_not_come_back_with_its_site(home: Homestead):
    env = await home.made(type="staging")
    await home.done("DELETE", f"/{env}")
    await home.estate.perform((await delete(home.client, home.id, home.domain)).json()["data"]["id"])
    await home.estate.perform((await home.client.post(f"/v1/sites/{home.id}/recover")).json()["data"]["id"])
    assert await home.listed() == []


async def test_a_recovery_that_failed_leaves_all_of_it_deleted(home: Homestead):
    env = await home.made(type="staging")
    await home.estate.perform((await delete(home.client, home.id, home.domain)).json()["data"]["id"])
    for ending in (home.estate.undo, home.estate.perform):
        job = (await home.client.post(f"/v1/sites/{home.id}/recover")).json()["data"]["id"]
        if ending == home.estate.undo:
            await home.estate.begin(job)
        await ending(job)
        left = "deleted" if ending == home.estate.undo else "running"
        assert await home.row(env, "status") == left


async def test_the_last_of_a_site_is_purged_from_its_nodes(home: Homestead):
    from stead.control.sites import service as sites

    env = await home.made(type="staging")
    await home.estate.perform((await delete(home.client, home.id, home.domain)).json()["data"]["id"])
    await home.estate.run(
        "update sites set recoverable_until = recoverable_until - $2::interval where id = $1",
        home.id,
        timedelta(days=31),
    )
    kinds = []
    for _ in range(2):
        async with home.estate.plane.database.transaction() as tx:
            await sites.purge_expired(tx)
        queued = "select id from jobs where site_id = $1 and status = 'queued'"
        job = await home.estate.value(queued, home.id)
        kinds.append(await home.estate.value("select params ->> 'kind' from jobs where id = $1", job))
        await home.estate.perform(job)
    assert kinds == ["environment.destroy/purge", "site.delete/purge"]
    left = "select count(*) from environments where site_id = $1 and node_id is not null"
    assert await home.estate.value(left, home.id) == 0
    assert await home.row(env, "status") == "deleted"


async def test_a_configuration_is_proved_on_the_host_it_is_for(home: Homestead):
    from stead.control.configuration import workflows as edge_jobs
    from stead.protocol.work import Probe

    env = await home.made(type="staging")
    job = (await home.ask("PATCH", f"/{env}/config", {})).json()["data"]["id"]
    row = await home.estate._row(job)
    ask = edge_jobs.CONFIGURE_ENVIRONMENT.steps["probe"].command
    assert ask is not None
    async with home.estate.plane.database.transaction() as tx:
        command = await ask(tx, edge_jobs.CONFIGURE_ENVIRONMENT.read(row))
    assert command is not None
    assert command.work == Probe(await home.row(env, "subdomain"))
    assert command.environment == env
    await home.estate.perform(job)
    await home.done("POST", f"/{env}/suspend")
    job = (await home.ask("PATCH", f"/{env}/config", {})).json()["data"]["id"]
    async with home.estate.plane.database.transaction() as tx:
        assert await ask(tx, edge_jobs.CONFIGURE_ENVIRONMENT.read(await home.estate._row(job))) is None
