"""Refreshing, resetting and pushing: who may, from where, and what a failure leaves shown."""

import pytest

from stead.control.jobs.definition import Refused
from stead.protocol import edge_records
from stead.protocol.work import release_of
from tests import teams
from tests.client import code_of
from tests.control.environments.conftest import Homestead

CONTENT = ["/refresh", "/reset", "/push"]


async def _shows(home: Homestead, env: str) -> str:
    """The artifact that the environment shows from now on, and did not before."""
    async with home.estate.plane.database.transaction() as tx:
        artifact = await teams.insert_artifact(tx, home.id)
        await tx.run(
            "update deployments set status = 'superseded', current_since = null where env_id = $1", env
        )
        await teams.insert_deployment(tx, home.id, env, artifact)
        digest: str = await tx.value("select digest from artifacts where id = $1", artifact)
        await tx.run("update environments set release = $2 where id = $1", env, release_of(digest))
    return digest


async def _production(home: Homestead) -> str:
    return str((await home.read("production"))["id"])


def _release(home: Homestead, env: str) -> str:
    record = home.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    return record.release


async def _history(home: Homestead, env: str) -> list[tuple[str, str]]:
    found = await home.ask("GET", f"/{env}/deployments")
    return [(each["kind"], each["status"]) for each in found.json()["data"]]


@pytest.mark.parametrize("action", CONTENT)
async def test_production_has_nowhere_to_take_content_from(home: Homestead, action: str):
    await _shows(home, await _production(home))
    refused = await home.ask("POST", f"/production{action}")
    assert (refused.status_code, code_of(refused)) == (409, "environment.is_production")


@pytest.mark.parametrize("status", ["provisioning", "suspending", "suspended", "deleting", "failed"])
@pytest.mark.parametrize("action", CONTENT)
async def test_the_content_of_what_does_not_run_stays(home: Homestead, action: str, status: str):
    env = await home.clone(status)
    await _shows(home, env)
    assert code_of(await home.ask("POST", f"/{env}{action}")) == "environment.busy"


@pytest.mark.parametrize("status", ["failed", "stopped", "deleting", "deleted", "provisioning"])
@pytest.mark.parametrize("action", CONTENT)
async def test_nothing_changes_below_a_site_that_does_not_run(home: Homestead, action: str, status: str):
    env = await home.clone()
    await _shows(home, env)
    await home.estate.become(home.id, status)
    assert code_of(await home.ask("POST", f"/{env}{action}")) == "site.not_running"


@pytest.mark.parametrize("action", ["/refresh", "/push"])
async def test_a_site_without_content_of_this_kind_says_so(home: Homestead, action: str):
    env = await home.clone()
    await home.estate.run("update sites set runtime = 'wasm', profile = 'wasm' where id = $1", home.id)
    refused = await home.ask("POST", f"/{env}{action}")
    assert (refused.status_code, code_of(refused)) == (409, "capability.unsupported")


@pytest.mark.parametrize("mode", ["db", "full"])
async def test_a_site_without_a_database_has_none_to_push(home: Homestead, mode: str):
    env = await home.clone()
    await _shows(home, env)
    refused = await home.ask("POST", f"/{env}/push", {"mode": mode})
    assert (refused.status_code, code_of(refused)) == (409, "capability.unsupported")


@pytest.mark.parametrize("body", [{"mode": "everything"}, {"mode": None}, {"what": 1}, [], "files"], ids=str)
async def test_a_push_of_something_else_is_refused(home: Homestead, body: object):
    env = await home.clone()
    await _shows(home, env)
    assert (await home.ask("POST", f"/{env}/push", body)).status_code == 400


async def test_a_placeholder_is_not_pushed(home: Homestead):
    env = await home.clone()
    assert code_of(await home.ask("POST", f"/{env}/push")) == "environment.nothing_to_push"
    assert await home.estate.value("select count(*) from jobs where site_id = $1", home.id) == 0


async def test_with_a_repository_only_staging_pushes(home: Homestead):
    staging, branch = await home.clone(), await home.clone(branch="main")
    for env in (staging, branch):
        await _shows(home, env)
    assert (await home.ask("POST", f"/{branch}/push")).status_code == 202, "without one any may"
    await home.estate.end_jobs(home.id)
    await home.estate.run("update sites set git_repo = 'https://git.example/x' where id = $1", home.id)
    refused = await home.ask("POST", f"/{branch}/push")
    assert (refused.status_code, code_of(refused)) == (409, "environment.push_not_allowed")
    assert (await home.ask("POST", f"/{staging}/push")).status_code == 202


async def test_a_key_that_does_not_see_production_does_not_change_it(home: Homestead):
    env = await home.clone()
    await _shows(home, env)
    pin = {"type": "environment", "id": env}
    minted = await home.person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    pinned = home.client.as_(minted.json()["data"]["secret"])
    path = f"/v1/sites/{home.id}/environments/{env}"
    assert code_of(await pinned.post(f"{path}/push")) == "environment.not_found"
    assert (await pinned.post(f"{path}/refresh")).status_code == 202


async def test_a_clone_begins_with_what_production_shows(home: Homestead):
    digest = await _shows(home, await _production(home))
    env = await home.made(type="staging")
    assert _release(home, env) == release_of(digest)
    assert await _history(home, env) == [("clone", "live")]
    assert (await home.read(env))["git_ref"] == "main"


async def test_a_refresh_shows_what_production_shows_now(home: Homestead):
    production = await _production(home)
    await _shows(home, production)
    env = await home.made(type="staging")
    digest = await _shows(home, production)
    await home.done("POST", f"/{env}/refresh")
    assert _release(home, env) == release_of(digest)
    assert await _history(home, env) == [("refresh", "live"), ("clone", "superseded")]
    assert (await home.told(env))[-1] == "env.refreshed"


@pytest.mark.parametrize("action", ["/refresh", "/reset"])
async def test_what_could_not_be_changed_is_shown_as_before(home: Homestead, action: str):
    production = await _production(home)
    before = await _shows(home, production)
    env = await home.made(type="staging")
    await _shows(home, production)
    job = (await home.ask("POST", f"/{env}{action}")).json()["data"]["id"]
    await home.estate.begin(job)
    await home.estate.undo(job)
    assert _release(home, env) == release_of(before)
    assert ("clone", "live") in await _history(home, env)
    assert (await home.told(env))[-1] == "env.failed"
    assert (await home.read(env))["status"] == "running"


async def test_a_reset_shows_the_placeholder_and_keeps_the_history(home: Homestead):
    await _shows(home, await _production(home))
    env = await home.made(type="staging")
    await home.done("POST", f"/{env}/reset")
    assert _release(home, env) == edge_records.PLACEHOLDER
    assert await _history(home, env) == [("clone", "superseded")]
    assert (await home.read(env))["git_ref"] is None


async def test_a_push_that_was_undone_leaves_production_as_it_was(home: Homestead):
    production = await _production(home)
    before = await _shows(home, production)
    env = await home.clone()
    await _shows(home, env)
    job = (await home.ask("POST", f"/{env}/push")).json()["data"]["id"]
    await home.estate.begin(job)
    await home.estate.undo(job)
    assert _release(home, production) == release_of(before)
    assert await _history(home, production) == [("push", "failed"), ("deploy", "live")]


async def test_what_was_destroyed_keeps_no_artifact_alive(home: Homestead):
    env = await home.clone()
    await _shows(home, env)
    await home.done("DELETE", f"/{env}")
    live = "select count(*) from deployments where env_id = $1 and status = 'live'"
    assert await home.estate.value(live, env) == 0


async def test_what_was_paused_meanwhile_is_not_refreshed(home: Homestead):
    """Its suspension was asked for while the refresh waited."""
    env = await home.made(type="staging")
    job = (await home.ask("POST", f"/{env}/refresh")).json()["data"]["id"]
    await home.ask("POST", f"/{env}/suspend")
    with pytest.raises(Refused, match="The environment is suspending"):
        await home.estate.begin(job)
    await home.estate.undo(job)
    assert (await home.read(env))["status"] == "suspending", "which is another job's"
