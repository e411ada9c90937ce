"""A push that changes nothing keeps the live release; the control plane checks what a node says about it."""

from dataclasses import dataclass
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.builds import service, workflows
from stead.control.builds.jobs import BuildWork
from stead.control.jobs.definition import Refused
from stead.protocol.work.builds import BuildResult
from tests import teams
from tests.people import Person

SOURCE = "5" * 64
UNCHANGED = BuildResult("", 0, "", 0, 0, commit="c" * 40, source_digest=SOURCE, unchanged=True)


@dataclass(frozen=True)
class Scene:
    plane: ControlPlane
    person: Person
    site: str
    env: str
    artifact: str
    deployment: str

    async def begin(self, *, pushed: bool = True) -> str:
        """A build that a node has begun."""
        async with self.plane.database.transaction() as tx:
            build = await teams.insert_build(tx, self.site, self.env, status="running")
            await tx.run("update builds set pushed = $2, node_id = 'node-a' where id = $1", build, pushed)
            await service.prepare(tx, await service.get(tx, build))
        return build

    async def expected_source(self, build: str) -> str | None:
        async with self.plane.database.reading() as tx:
            found = await service.find_reusable(tx, await service.get(tx, build))
        return found.source_digest if found else None

    async def finish(self, build: str, result: BuildResult = UNCHANGED) -> dict[str, Any]:
        job: Any = _JobOf(BuildWork(build))
        async with self.plane.database.transaction() as tx:
            await workflows._store_result(tx, job, result)
            return dict(await workflows._finish(tx, job))

    async def set_secret(self) -> None:
        path = f"/v1/sites/{self.site}/environments/production/secrets/API_TOKEN"
        assert (await self.person.session.put(path, json={"value": "another value"})).is_success


@dataclass(frozen=True)
class _JobOf:
    params: BuildWork


@pytest.fixture
async def scene(plane: ControlPlane, person: Person) -> Scene:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        env = await teams.environment_of(tx, site)
        build = await teams.insert_build(tx, site, env, status="running")
        await service.prepare(tx, await service.get(tx, build))
        artifact = await teams.insert_artifact(tx, site)
        await tx.run("update artifacts set build_id = $2 where id = $1", artifact, build)
        await tx.run(
            "update builds set source_digest = $2, status = 'succeeded', artifact_id = $3, finished_at = $4"
            " where id = $1",
            *(build, SOURCE, artifact, tx.now),
        )
        deployment = await teams.insert_deployment(tx, site, env, artifact)
    return Scene(plane, person, site, env, artifact, deployment)


async def test_a_push_that_changes_nothing_ends_with_the_live_release(scene: Scene):
    build = await scene.begin()
    assert await scene.expected_source(build) == SOURCE
    result = await scene.finish(build)
    assert (result["artifact_id"], result["deployment_id"]) == (scene.artifact, scene.deployment)
    assert result["url"].startswith("https://")
    path = f"/v1/sites/{scene.site}/environments/production/builds/{build}"
    shown = (await scene.person.session.get(path)).json()["data"]
    assert (shown["status"], shown["skipped"], shown["artifact_id"]) == ("succeeded", True, scene.artifact)


async def test_a_build_that_the_customer_asked_for_is_never_skipped(scene: Scene):
    assert await scene.expected_source(await scene.begin(pushed=False)) is None


async def test_after_a_change_of_secrets_the_next_push_is_built(scene: Scene):
    await scene.set_secret()
    assert await scene.expected_source(await scene.begin()) is None


async def test_after_a_change_of_the_primary_domain_the_next_push_is_built(scene: Scene):
    """Sites contain their own address, which builds read as STEAD_URL."""
    async with scene.plane.database.transaction() as tx:
        await tx.run("update sites set domain = 'new-' || domain where id = $1", scene.site)
    assert await scene.expected_source(await scene.begin()) is None


@pytest.mark.parametrize(
    "result",
    [
        BuildResult("", 0, "", 0, 0, source_digest="6" * 64, unchanged=True),
        BuildResult("", 0, "", 0, 0, unchanged=True),
    ],
)
async def test_a_node_cannot_skip_a_build_of_another_source(scene: Scene, result: BuildResult):
    build = await scene.begin()
    with pytest.raises(Refused):
        await scene.finish(build, result)


async def test_a_node_cannot_skip_a_build_that_must_not_be_skipped(scene: Scene):
    build = await scene.begin(pushed=False)
    with pytest.raises(Refused):
        await scene.finish(build)


async def test_a_secret_that_changes_during_a_build_is_for_the_next_one(scene: Scene):
    build = await scene.begin()
    await scene.set_secret()
    assert (await scene.finish(build))["artifact_id"] == scene.artifact
    assert await scene.expected_source(await scene.begin()) is None
