"""A locked environment keeps the release that it serves, whoever wants to deploy and however."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
import pytest

from stead.control.builds import service as builds
from stead.control.builds import workflows
from stead.control.jobs.definition import Refused
from tests import teams
from tests.client import code_of
from tests.control.environments.conftest import HostedSite

REASON = "The sale runs until Monday."


@dataclass(frozen=True)
class Scene:
    """A site whose production and staging are live, with an earlier deployment each."""

    site: HostedSite
    production: str
    staging: str
    artifact: str
    former: str

    async def lock(self, env: str, reason: str = REASON) -> httpx.Response:
        return await self.site.request("PUT", f"/{env}/lock", {"reason": reason})

    async def unlock(self, env: str) -> httpx.Response:
        return await self.site.request("DELETE", f"/{env}/lock")

    async def jobs(self) -> int:
        return int(
            await self.site.driver.fetch_value("select count(*) from jobs where site_id = $1", self.site.id)
        )


@pytest.fixture
async def scene(site: HostedSite) -> Scene:
    production = str((await site.read("production"))["id"])
    staging = await site.insert_environment()
    former = ""
    async with site.driver.plane.database.transaction() as tx:
        for env in (staging, production):
            artifact = await teams.insert_artifact(tx, site.id)
            former = await teams.insert_deployment(tx, site.id, env, artifact, status="superseded")
            artifact = await teams.insert_artifact(tx, site.id)
            await teams.insert_deployment(tx, site.id, env, artifact)
    return Scene(site, production, staging, artifact, former)


Path = Callable[[Scene], Awaitable[httpx.Response]]
INTO_PRODUCTION: dict[str, Path] = {
    "deploy": lambda scene: scene.site.request(
        "POST", f"/{scene.production}/deployments", {"artifact_id": scene.artifact}
    ),
    "rollback": lambda scene: scene.site.request(
        "POST", f"/{scene.production}/deployments/{scene.former}/rollback"
    ),
    "promote": lambda scene: scene.site.request(
        "POST", f"/{scene.staging}/promote", {"to_env": "production"}
    ),
    "push": lambda scene: scene.site.request("POST", f"/{scene.staging}/push"),
}
INTO_STAGING: dict[str, Path] = {
    "refresh": lambda scene: scene.site.request("POST", f"/{scene.staging}/refresh"),
    "reset": lambda scene: scene.site.request("POST", f"/{scene.staging}/reset"),
}
PATHS = [
    *((name, path, "production") for name, path in INTO_PRODUCTION.items()),
    *((name, path, "staging") for name, path in INTO_STAGING.items()),
]
each_path = pytest.mark.parametrize(
    ("path", "target"), [each[1:] for each in PATHS], ids=[n[0] for n in PATHS]
)


async def test_the_lock_and_its_reason_are_shown_until_it_is_unlocked(scene: Scene):
    locked = await scene.lock("production")
    assert locked.status_code == 200, locked.text
    shown = await scene.site.read("production")
    assert locked.json()["data"] == {"reason": REASON, "locked_at": shown["locked_at"]}
    assert shown["lock_reason"] == REASON
    assert (await scene.lock("production", "Another one.")).status_code == 200
    assert (await scene.site.read("production"))["lock_reason"] == "Another one."
    assert (await scene.site.read(scene.staging))["lock_reason"] is None, "only the one that was named"
    for _ in range(2):
        assert (await scene.unlock("production")).status_code == 204
    shown = await scene.site.read("production")
    assert (shown["lock_reason"], shown["locked_at"]) == (None, None)


@pytest.mark.parametrize("reason", ["", "two\nlines", "x" * 501, "\x1b[31mred"])
async def test_a_reason_is_one_line_of_text(scene: Scene, reason: str):
    refused = await scene.lock("production", reason)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "reason")


@each_path
async def test_nothing_is_deployed_to_a_locked_environment(scene: Scene, path: Path, target: str):
    env = scene.production if target == "production" else scene.staging
    await scene.lock(env)
    refused = await path(scene)
    assert (refused.status_code, code_of(refused)) == (409, "environment.locked")
    assert REASON in refused.json()["error"]["message"]
    assert await scene.jobs() == 0
    await scene.unlock(env)
    assert (await path(scene)).status_code == 202


@each_path
async def test_a_lock_also_stops_what_waits_in_the_queue(scene: Scene, path: Path, target: str):
    env = scene.production if target == "production" else scene.staging
    job = (await path(scene)).json()["data"]["id"]
    await scene.lock(env)
    with pytest.raises(Refused) as refused:
        await scene.site.driver.run_job(job)
    assert refused.value.code == "environment.locked"
    assert scene.site.record(env) is None, "nothing was announced"


@each_path
async def test_a_lock_concerns_only_its_own_environment(scene: Scene, path: Path, target: str):
    await scene.lock(scene.staging if target == "production" else scene.production)
    assert (await path(scene)).status_code == 202


async def test_a_build_for_a_locked_environment_succeeds_and_says_why_it_is_not_deployed(scene: Scene):
    await scene.lock(scene.production)
    body = {"builder": "static", "source": "https://example.com/a.zip", "auto_deploy": True}
    queued = await scene.site.request("POST", f"/{scene.production}/builds", body)
    assert queued.status_code == 202, queued.text
    build = queued.json()["data"]["resource"]["id"]
    async with scene.site.driver.plane.database.transaction() as tx:
        found = await builds.get(tx, build)
        deployment, problem = await workflows._deploy(tx, found, scene.artifact)
    assert deployment is None
    assert REASON in (problem or "")
    await scene.unlock(scene.production)
    async with scene.site.driver.plane.database.transaction() as tx:
        deployment, problem = await workflows._deploy(tx, found, scene.artifact)
    assert deployment is not None
    assert problem is None


async def test_a_locked_environment_can_still_be_suspended_and_destroyed(scene: Scene):
    """These take the environment out of service. They deploy nothing."""
    await scene.lock(scene.staging)
    assert (await scene.site.request("DELETE", f"/{scene.staging}")).status_code == 202
