"""Environments on a complete installation: API, worker, node, nginx and object store."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from stead.control.artifacts.rules import blob_name
from tests.control.environments.live import Live, start_installation
from tests.faults.jobs.programs import until

PLACEHOLDER = "ready for its first deployment"


@pytest.fixture(scope="module")
async def live() -> AsyncIterator[Live]:
    async with start_installation() as live:
        yield live


async def test_a_new_site_can_have_a_staging_environment(live: Live):
    site, _ = await live.create_site()
    job = await live.complete("POST", f"/v1/sites/{site}/environments", {"type": "staging"})
    found = await live.read(site, job["result"]["env_id"])
    assert found["status"] == "running"
    answer = await live.visit(found["subdomain"])
    assert (answer.status_code, PLACEHOLDER in answer.text) == (200, True)


async def test_an_environment_starts_like_production_and_changes_on_its_own(live: Live):
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "one")
    path = f"/v1/sites/{site}/environments"
    job = await live.complete("POST", path, {"type": "branch", "branch": "feature/x"})
    env = job["result"]["env_id"]
    host = (await live.read(site, env))["subdomain"]
    assert (await live.visit(host)).text == "one"
    await live.deploy(site, env, "two")
    assert [(await live.visit(each)).text for each in (host, domain)] == ["two", "one"]

    refreshed = await live.complete("POST", f"{path}/{env}/refresh")
    assert (await live.visit(host)).text == "one"
    history = await live.harness.read_list(f"{path}/{env}/deployments")
    assert [(each["kind"], each["status"]) for each in history] == [
        ("refresh", "live"),
        ("deploy", "superseded"),
        ("clone", "superseded"),
    ]
    assert refreshed["result"]["deployment_id"] == history[0]["id"]

    await live.complete("POST", f"{path}/{env}/reset")
    assert PLACEHOLDER in (await live.visit(host)).text
    assert (await live.visit(domain)).text == "one"
    nothing = await live.harness.client.post(f"{path}/{env}/push")
    assert nothing.json()["error"]["code"] == "environment.nothing_to_push"

    await live.complete("DELETE", f"{path}/{env}")
    response = await live.visit(host)
    assert (response.status_code, response.headers["x-stead-reason"]) == (404, "unknown_host")
    assert not live.harness.node.has_environment(env, live=True)
    assert (await live.visit(domain)).text == "one"
    again = await live.complete("POST", path, {"type": "branch", "branch": "feature/x"})
    assert (await live.visit((await live.read(site, again["result"]["env_id"]))["subdomain"])).text == "one"


async def test_a_push_changes_production_and_a_rollback_undoes_it(live: Live):
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "old")
    path = f"/v1/sites/{site}/environments"
    env = (await live.complete("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "new")
    for mode in ("db", "full"):
        refused = await live.harness.client.post(f"{path}/{env}/push", json={"mode": mode})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "capability.unsupported")
    job = await live.complete("POST", f"{path}/{env}/push", {"mode": "files"})
    assert job["resource"]["id"] == env
    assert (await live.visit(domain)).text == "new"
    history = await live.harness.read_list(f"{path}/production/deployments")
    assert [(each["kind"], each["status"]) for each in history] == [
        ("push", "live"),
        ("deploy", "superseded"),
    ]
    await live.complete("POST", f"{path}/production/deployments/{history[1]['id']}/rollback")
    assert (await live.visit(domain)).text == "old"


@pytest.mark.parametrize("damage", ["missing", "changed"])
async def test_a_push_fails_if_the_release_of_production_could_not_be_restored(live: Live, damage: str):
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    layer = await live.deploy(site, production, f"precious {damage}")
    path = f"/v1/sites/{site}/environments"
    env = (await live.complete("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "new")
    if damage == "missing":
        await live.objects.delete([blob_name(layer)])
    else:
        await live.objects.put(blob_name(layer), b"something else")
    job = await live.run_job("POST", f"{path}/{env}/push")
    assert (job["status"], job["error"]["code"]) == ("failed", "backup.unverified")
    assert (await live.visit(domain)).text == f"precious {damage}"
    history = await live.harness.read_list(f"{path}/production/deployments")
    assert [(each["kind"], each["status"]) for each in history] == [("push", "failed"), ("deploy", "live")]
    assert (await live.read(site, env))["status"] == "running"


async def test_a_push_of_a_release_that_the_node_refuses_changes_nothing(live: Live):
    """The node refuses the release: its provenance was changed."""
    site, domain = await live.create_site()
    path = f"/v1/sites/{site}/environments"
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "as it was")
    env = (await live.complete("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "to be pushed")
    await live.harness.sql(
        "update artifacts set envelope = 'x' where site_id = $1 and layer_digest ="
        " (select layer_digest from artifacts where site_id = $1 order by id desc limit 1)",
        site,
    )
    job = await live.run_job("POST", f"{path}/{env}/push")
    assert (job["status"], job["error"]["code"]) == ("failed", "artifact.signature_invalid")
    assert (await live.visit(domain)).text == "as it was"


async def test_a_suspended_environment_answers_503_and_visits_do_not_resume_it(live: Live):
    site, domain = await live.create_site()
    path = f"/v1/sites/{site}/environments"
    env = (await live.complete("POST", path, {"type": "branch", "branch": "main"}))["result"]["env_id"]
    host = (await live.read(site, env))["subdomain"]
    await live.complete("POST", f"{path}/{env}/suspend")
    for _ in range(3):
        answer = await live.visit(host)
        assert (answer.status_code, answer.headers["x-stead-reason"]) == (503, "suspended")
    assert (await live.visit(domain)).status_code == 200
    await live.complete("PATCH", f"{path}/{env}/config", {"performance": {"page_cache_ttl": 60}})
    assert (await live.read(site, env))["status"] == "suspended"
    await live.complete("POST", f"{path}/{env}/resume")
    assert (await live.visit(host)).status_code == 200


async def test_visits_but_not_probes_update_the_last_activity(live: Live):
    site, _ = await live.create_site()
    path = f"/v1/sites/{site}/environments"
    envs = [
        (await live.complete("POST", path, {"type": "branch", "branch": name}))["result"]["env_id"]
        for name in ("visited", "not")
    ]
    host = (await live.read(site, envs[0]))["subdomain"]
    await live.visit(host)

    async def active() -> bool:
        return (await live.read(site, envs[0]))["last_active"] is not None

    await until(active, "the visit is recorded")
    assert (await live.read(site, envs[1]))["last_active"] is None, "a probe is not a visit"


async def test_environments_are_served_again_after_the_recovery_of_their_site(live: Live):
    site, domain = await live.create_site()
    path = f"/v1/sites/{site}/environments"
    env = (await live.complete("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "kept")
    host = (await live.read(site, env))["subdomain"]
    await live.complete("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
    assert [(await live.visit(each)).status_code for each in (host, domain)] == [404, 404]
    await live.complete("POST", f"/v1/sites/{site}/recover")
    assert (await live.visit(host)).text == "kept"
    await live.complete("POST", f"/v1/sites/{site}/restart")
    assert (await live.visit(host)).text == "kept"


async def test_the_simulator_supports_all_actions(live: Live):
    live.harness.speak_as("test")
    try:
        site, domain = await live.create_site()
        path = f"/v1/sites/{site}/environments"
        staging = (await live.complete("POST", path, {"type": "staging"}))["result"]["env_id"]
        branch = (await live.complete("POST", path, {"type": "branch", "branch": "main"}))["result"]["env_id"]
        for action in ("suspend", "resume", "refresh", "reset"):
            await live.complete("POST", f"{path}/{branch}/{action}")
        await live.deploy(site, staging, "pretended")
        await live.complete("POST", f"{path}/{staging}/push")
        history = await live.harness.read_list(f"{path}/production/deployments")
        assert [(each["kind"], each["status"]) for each in history] == [("push", "live")]
        await live.complete("DELETE", f"{path}/{branch}")
        await live.complete("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
        await live.complete("POST", f"/v1/sites/{site}/recover")
        assert (await live.read(site, staging))["status"] == "running"
    finally:
        live.harness.speak_as("live")


async def test_a_deployment_keeps_its_permanent_url(live: Live):
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    for page in ("one", "two", "one"):
        await live.deploy(site, production, page)
    path = f"/v1/sites/{site}/environments/{production}/deployments"
    hosts = [urlsplit(each["url"]).hostname or "" for each in await live.harness.read_list(path)]
    assert [(await live.visit(host)).text for host in (*hosts, domain)] == ["one", "two", "one", "one"]
    assert (await live.visit(hosts[1])).headers["x-robots-tag"] == "noindex, nofollow"
    await live.complete("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
    for host in hosts:
        assert (await live.visit(host)).status_code == 404


async def test_visitors_of_the_sites_of_a_suspended_account_get_503(live: Live):
    site, domain = await live.create_site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "here")
    (owner,) = await live.harness.sql("select account_id from sites where id = $1", site)
    await live.delivery.steadctl("accounts", "suspend", str(owner[0]), "--reason", "A test.")
    try:
        await until(lambda: _is_suspended(live, domain), "visitors get 503")
    finally:
        await live.delivery.steadctl("accounts", "suspend", str(owner[0]), "--lift")
    await until(lambda: _shows(live, domain, "here"), "the site is served again")


async def _is_suspended(live: Live, host: str) -> bool:
    answer = await live.visit(host)
    return (answer.status_code, answer.headers.get("x-stead-reason")) == (503, "suspended")


async def _shows(live: Live, host: str, text: str) -> bool:
    return (await live.visit(host)).text == text
