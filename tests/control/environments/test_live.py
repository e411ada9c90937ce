"""Environments as visitors meet them: a real API, worker, node, nginx and object store."""

from collections.abc import AsyncIterator

import pytest

from stead.control.artifacts.rules import blob_name
from tests.control.environments.live import Live, everything
from tests.faults.jobs.programs import until

PLACEHOLDER = "ready for its first deployment"


@pytest.fixture(scope="module")
async def live() -> AsyncIterator[Live]:
    async with everything() as live:
        yield live


async def test_a_site_before_its_first_deployment_has_a_staging_like_it(live: Live):
    site, _ = await live.site()
    job = await live.do("POST", f"/v1/sites/{site}/environments", {"type": "staging"})
    found = await live.read(site, job["result"]["env_id"])
    assert found["status"] == "running"
    answer = await live.visit(found["subdomain"])
    assert (answer.status_code, PLACEHOLDER in answer.text) == (200, True)


async def test_a_clone_shows_what_production_shows_and_goes_its_own_way(live: Live):
    site, domain = await live.site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "one")
    path = f"/v1/sites/{site}/environments"
    job = await live.do("POST", path, {"type": "branch", "branch": "feature/x"})
    env = job["result"]["env_id"]
    host = (await live.read(site, env))["subdomain"]
    assert (await live.visit(host)).text == "one"
    await live.deploy(site, env, "two")
    assert [(await live.visit(each)).text for each in (host, domain)] == ["two", "one"]

    refreshed = await live.do("POST", f"{path}/{env}/refresh")
    assert (await live.visit(host)).text == "one"
    history = await live.harness.ask("GET", f"{path}/{env}/deployments", status=200)
    assert [(each["kind"], each["status"]) for each in history] == [
        ("refresh", "live"),
        ("deploy", "superseded"),
        ("clone", "superseded"),
    ]
    assert refreshed["result"]["deployment_id"] == history[0]["id"]

    await live.do("POST", f"{path}/{env}/reset")
    assert PLACEHOLDER in (await live.visit(host)).text
    assert (await live.visit(domain)).text == "one"
    nothing = await live.harness.client.post(f"{path}/{env}/push")
    assert nothing.json()["error"]["code"] == "environment.nothing_to_push"

    await live.do("DELETE", f"{path}/{env}")
    gone = await live.visit(host)
    assert (gone.status_code, gone.headers["x-stead-reason"]) == (404, "unknown_host")
    assert not live.harness.node.has_environment(env, live=True)
    assert (await live.visit(domain)).text == "one"
    again = await live.do("POST", path, {"type": "branch", "branch": "feature/x"})
    assert (await live.visit((await live.read(site, again["result"]["env_id"]))["subdomain"])).text == "one"


async def test_a_push_makes_it_productions_and_a_rollback_takes_it_back(live: Live):
    site, domain = await live.site()
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "old")
    path = f"/v1/sites/{site}/environments"
    env = (await live.do("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "new")
    for mode in ("db", "full"):
        refused = await live.harness.client.post(f"{path}/{env}/push", json={"mode": mode})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "capability.unsupported")
    job = await live.do("POST", f"{path}/{env}/push", {"mode": "files"})
    assert job["resource"]["id"] == env
    assert (await live.visit(domain)).text == "new"
    history = await live.harness.ask("GET", f"{path}/production/deployments", status=200)
    assert [(each["kind"], each["status"]) for each in history] == [
        ("push", "live"),
        ("deploy", "superseded"),
    ]
    await live.do("POST", f"{path}/production/deployments/{history[1]['id']}/rollback")
    assert (await live.visit(domain)).text == "old"


@pytest.mark.parametrize("damage", ["missing", "changed"])
async def test_nothing_is_pushed_over_what_could_not_be_brought_back(live: Live, damage: str):
    site, domain = await live.site()
    production = (await live.read(site, "production"))["id"]
    layer = await live.deploy(site, production, f"precious {damage}")
    path = f"/v1/sites/{site}/environments"
    env = (await live.do("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "new")
    if damage == "missing":
        await live.objects.delete([blob_name(layer)])
    else:
        await live.objects.put(blob_name(layer), b"something else")
    job = await live.tried("POST", f"{path}/{env}/push")
    assert (job["status"], job["error"]["code"]) == ("failed", "backup.unverified")
    assert (await live.visit(domain)).text == f"precious {damage}"
    history = await live.harness.ask("GET", f"{path}/production/deployments", status=200)
    assert [(each["kind"], each["status"]) for each in history] == [("push", "failed"), ("deploy", "live")]
    assert (await live.read(site, env))["status"] == "running"


async def test_a_push_of_what_does_not_answer_changes_nothing(live: Live):
    """Its release is refused by the node: somebody has exchanged it in the object store."""
    site, domain = await live.site()
    path = f"/v1/sites/{site}/environments"
    production = (await live.read(site, "production"))["id"]
    await live.deploy(site, production, "as it was")
    env = (await live.do("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "to be pushed")
    await live.harness.sql(
        "update artifacts set envelope = 'x' where site_id = $1 and layer_digest ="
        " (select layer_digest from artifacts where site_id = $1 order by id desc limit 1)",
        site,
    )
    job = await live.tried("POST", f"{path}/{env}/push")
    assert (job["status"], job["error"]["code"]) == ("failed", "artifact.signature_invalid")
    assert (await live.visit(domain)).text == "as it was"


async def test_a_suspended_environment_says_so_and_no_visit_wakes_it(live: Live):
    site, domain = await live.site()
    path = f"/v1/sites/{site}/environments"
    env = (await live.do("POST", path, {"type": "branch", "branch": "main"}))["result"]["env_id"]
    host = (await live.read(site, env))["subdomain"]
    await live.do("POST", f"{path}/{env}/suspend")
    for _ in range(3):
        answer = await live.visit(host)
        assert (answer.status_code, answer.headers["x-stead-reason"]) == (503, "suspended")
    assert (await live.visit(domain)).status_code == 200
    await live.do("PATCH", f"{path}/{env}/config", {"performance": {"page_cache_ttl": 60}})
    assert (await live.read(site, env))["status"] == "suspended"
    await live.do("POST", f"{path}/{env}/resume")
    assert (await live.visit(host)).status_code == 200


async def test_a_visit_is_what_makes_an_environment_active(live: Live):
    site, _ = await live.site()
    path = f"/v1/sites/{site}/environments"
    envs = [
        (await live.do("POST", path, {"type": "branch", "branch": name}))["result"]["env_id"]
        for name in ("visited", "not")
    ]
    host = (await live.read(site, envs[0]))["subdomain"]
    await live.visit(host)

    async def active() -> bool:
        return (await live.read(site, envs[0]))["last_active"] is not None

    await until(active, "the visit is known")
    assert (await live.read(site, envs[1]))["last_active"] is None, "a probe of ours is no visit"


async def test_a_deleted_site_takes_its_environments_along_and_brings_them_back(live: Live):
    site, domain = await live.site()
    path = f"/v1/sites/{site}/environments"
    env = (await live.do("POST", path, {"type": "staging"}))["result"]["env_id"]
    await live.deploy(site, env, "kept")
    host = (await live.read(site, env))["subdomain"]
    await live.do("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
    assert [(await live.visit(each)).status_code for each in (host, domain)] == [404, 404]
    await live.do("POST", f"/v1/sites/{site}/recover")
    assert (await live.visit(host)).text == "kept"
    await live.do("POST", f"/v1/sites/{site}/restart")
    assert (await live.visit(host)).text == "kept"


async def test_the_simulator_does_all_of_it_too(live: Live):
    live.harness.speak_as("test")
    try:
        site, domain = await live.site()
        path = f"/v1/sites/{site}/environments"
        staging = (await live.do("POST", path, {"type": "staging"}))["result"]["env_id"]
        branch = (await live.do("POST", path, {"type": "branch", "branch": "main"}))["result"]["env_id"]
        for action in ("suspend", "resume", "refresh", "reset"):
            await live.do("POST", f"{path}/{branch}/{action}")
        await live.deploy(site, staging, "pretended")
        await live.do("POST", f"{path}/{staging}/push")
        history = await live.harness.ask("GET", f"{path}/production/deployments", status=200)
        assert [(each["kind"], each["status"]) for each in history] == [("push", "live")]
        await live.do("DELETE", f"{path}/{branch}")
        await live.do("DELETE", f"/v1/sites/{site}", {"confirm_domain": domain})
        await live.do("POST", f"/v1/sites/{site}/recover")
        assert (await live.read(site, staging))["status"] == "running"
    finally:
        live.harness.speak_as("live")
