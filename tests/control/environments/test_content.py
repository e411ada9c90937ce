"""Refreshing, resetting and pushing: conditions, results and failures."""

import pytest

from stead.control.jobs.definition import Refused
from stead.protocol import edge_records
from stead.protocol.work.releases import release_of
from tests import teams
from tests.client import code_of
from tests.control.environments.conftest import HostedSite

CONTENT = ["/refresh", "/reset", "/push"]


async def _deploy(site: HostedSite, env: str) -> str:
    """Makes a new artifact the live release of the environment. Returns its digest."""
    async with site.driver.plane.database.transaction() as tx:
        artifact = await teams.insert_artifact(tx, site.id)
        await tx.run(
            "update deployments set status = 'superseded', current_since = null where env_id = $1", env
        )
        await teams.insert_deployment(tx, site.id, env, artifact)
        digest: str = await tx.value("select digest from artifacts where id = $1", artifact)
        await tx.run("update environments set release = $2 where id = $1", env, release_of(digest))
    return digest


async def _production(site: HostedSite) -> str:
    return str((await site.read("production"))["id"])


def _release(site: HostedSite, env: str) -> str:
    record = site.record(env)
    assert isinstance(record, edge_records.EnvironmentRecord)
    return record.release


async def _history(site: HostedSite, env: str) -> list[tuple[str, str]]:
    found = await site.request("GET", f"/{env}/deployments")
    return [(each["kind"], each["status"]) for each in found.json()["data"]]


@pytest.mark.parametrize("action", CONTENT)
async def test_the_content_of_production_cannot_be_changed_this_way(site: HostedSite, action: str):
    await _deploy(site, await _production(site))
    refused = await site.request("POST", f"/production{action}")
    assert (refused.status_code, code_of(refused)) == (409, "environment.is_production")


@pytest.mark.parametrize("status", ["provisioning", "suspending", "suspended", "deleting", "failed"])
@pytest.mark.parametrize("action", CONTENT)
async def test_content_cannot_be_changed_unless_the_environment_is_running(
    site: HostedSite, action: str, status: str
):
    env = await site.insert_environment(status)
    await _deploy(site, env)
    assert code_of(await site.request("POST", f"/{env}{action}")) == "environment.busy"


@pytest.mark.parametrize("status", ["failed", "stopped", "deleting", "deleted", "provisioning"])
@pytest.mark.parametrize("action", CONTENT)
async def test_content_cannot_be_changed_unless_the_site_is_running(
    site: HostedSite, action: str, status: str
):
    env = await site.insert_environment()
    await _deploy(site, env)
    await site.driver.set_status(site.id, status)
    assert code_of(await site.request("POST", f"/{env}{action}")) == "site.not_running"


@pytest.mark.parametrize("action", ["/refresh", "/push"])
async def test_a_runtime_without_cloning_refuses_refresh_and_push(site: HostedSite, action: str):
    env = await site.insert_environment()
    await site.driver.execute("update sites set runtime = 'wasm', profile = 'wasm' where id = $1", site.id)
    refused = await site.request("POST", f"/{env}{action}")
    assert (refused.status_code, code_of(refused)) == (409, "capability.unsupported")


@pytest.mark.parametrize("mode", ["db", "full"])
async def test_a_site_without_a_database_refuses_to_push_one(site: HostedSite, mode: str):
    env = await site.insert_environment()
    await _deploy(site, env)
    refused = await site.request("POST", f"/{env}/push", {"mode": mode})
    assert (refused.status_code, code_of(refused)) == (409, "capability.unsupported")


@pytest.mark.parametrize("body", [{"mode": "everything"}, {"mode": None}, {"what": 1}, [], "files"], ids=str)
async def test_a_push_with_an_invalid_body_is_refused(site: HostedSite, body: object):
    env = await site.insert_environment()
    await _deploy(site, env)
    assert (await site.request("POST", f"/{env}/push", body)).status_code == 400


async def test_a_placeholder_page_cannot_be_pushed(site: HostedSite):
    env = await site.insert_environment()
    assert code_of(await site.request("POST", f"/{env}/push")) == "environment.nothing_to_push"
    assert await site.driver.fetch_value("select count(*) from jobs where site_id = $1", site.id) == 0


async def test_on_a_site_with_a_repository_only_staging_can_be_pushed(site: HostedSite):
    staging, branch = await site.insert_environment(), await site.insert_environment(branch="main")
    for env in (staging, branch):
        await _deploy(site, env)
    assert (await site.request("POST", f"/{branch}/push")).status_code == 202, (
        "without a repository every environment can be pushed"
    )
    await site.driver.end_jobs(site.id)
    await site.driver.execute("update sites set git_repo = 'https://git.example/x' where id = $1", site.id)
    refused = await site.request("POST", f"/{branch}/push")
    assert (refused.status_code, code_of(refused)) == (409, "environment.push_not_allowed")
    assert (await site.request("POST", f"/{staging}/push")).status_code == 202


async def test_a_key_that_does_not_see_production_cannot_push(site: HostedSite):
    env = await site.insert_environment()
    await _deploy(site, env)
    pin = {"type": "environment", "id": env}
    minted = await site.person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    pinned = site.client.as_(minted.json()["data"]["secret"])
    path = f"/v1/sites/{site.id}/environments/{env}"
    assert code_of(await pinned.post(f"{path}/push")) == "environment.not_found"
    assert (await pinned.post(f"{path}/refresh")).status_code == 202


async def test_a_new_environment_serves_the_release_of_production(site: HostedSite):
    digest = await _deploy(site, await _production(site))
    env = await site.create_environment(type="staging")
    assert _release(site, env) == release_of(digest)
    assert await _history(site, env) == [("clone", "live")]
    assert (await site.read(env))["git_ref"] == "main"


async def test_a_refresh_deploys_the_current_release_of_production(site: HostedSite):
    production = await _production(site)
    await _deploy(site, production)
    env = await site.create_environment(type="staging")
    digest = await _deploy(site, production)
    await site.complete("POST", f"/{env}/refresh")
    assert _release(site, env) == release_of(digest)
    assert await _history(site, env) == [("refresh", "live"), ("clone", "superseded")]
    assert (await site.result_events(env))[-1] == "env.refreshed"


@pytest.mark.parametrize("action", ["/refresh", "/reset"])
async def test_a_failed_content_change_keeps_the_release(site: HostedSite, action: str):
    production = await _production(site)
    before = await _deploy(site, production)
    env = await site.create_environment(type="staging")
    await _deploy(site, production)
    job = (await site.request("POST", f"/{env}{action}")).json()["data"]["id"]
    await site.driver.run_first_step(job)
    await site.driver.undo_job(job)
    assert _release(site, env) == release_of(before)
    assert ("clone", "live") in await _history(site, env)
    assert (await site.result_events(env))[-1] == "env.failed"
    assert (await site.read(env))["status"] == "running"


async def test_a_reset_serves_the_placeholder_page_and_keeps_the_deployments(site: HostedSite):
    await _deploy(site, await _production(site))
    env = await site.create_environment(type="staging")
    await site.complete("POST", f"/{env}/reset")
    assert _release(site, env) == edge_records.PLACEHOLDER
    assert await _history(site, env) == [("clone", "superseded")]
    assert (await site.read(env))["git_ref"] is None


async def test_a_push_that_was_undone_leaves_production_unchanged(site: HostedSite):
    production = await _production(site)
    before = await _deploy(site, production)
    env = await site.insert_environment()
    await _deploy(site, env)
    job = (await site.request("POST", f"/{env}/push")).json()["data"]["id"]
    await site.driver.run_first_step(job)
    await site.driver.undo_job(job)
    assert _release(site, production) == release_of(before)
    assert await _history(site, production) == [("push", "failed"), ("deploy", "live")]


async def test_a_destroyed_environment_has_no_live_deployment(site: HostedSite):
    env = await site.insert_environment()
    await _deploy(site, env)
    await site.complete("DELETE", f"/{env}")
    live = "select count(*) from deployments where env_id = $1 and status = 'live'"
    assert await site.driver.fetch_value(live, env) == 0


async def test_an_environment_that_is_being_suspended_is_not_refreshed(site: HostedSite):
    """The suspension was requested while the refresh was queued."""
    env = await site.create_environment(type="staging")
    job = (await site.request("POST", f"/{env}/refresh")).json()["data"]["id"]
    await site.request("POST", f"/{env}/suspend")
    with pytest.raises(Refused, match="The environment is suspending"):
        await site.driver.run_first_step(job)
    await site.driver.undo_job(job)
    assert (await site.read(env))["status"] == "suspending", "the other job keeps its status"
