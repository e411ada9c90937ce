"""Requests for deployments, promotions and rollbacks: what is refused before a job is queued."""

import asyncio

import pytest

from stead.control.app import ControlPlane
from stead.control.deployments import service
from stead.control.engines.postgres import UniqueViolation
from stead.shared.ids import new_id
from tests import teams
from tests.control.conftest import Pin
from tests.people import Person


async def _site(plane: ControlPlane, person: Person) -> tuple[str, str, str]:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        return site, await teams.environment_of(tx, site), await teams.insert_artifact(tx, site)


async def test_an_artifact_of_another_site_is_not_found(
    plane: ControlPlane, person: Person, stranger: Person
):
    site, env, _ = await _site(plane, person)
    _, _, theirs = await _site(plane, stranger)
    _, _, elsewhere = await _site(plane, person)
    for artifact in (theirs, elsewhere, new_id("art"), "art_x", "production"):
        path = f"/v1/sites/{site}/environments/{env}/deployments"
        answer = await person.session.post(path, json={"artifact_id": artifact})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (
            404,
            "artifact.not_found",
            "artifact_id",
        )


async def test_an_artifact_can_be_deployed_to_every_environment_of_its_site(
    plane: ControlPlane, person: Person
):
    site, env, artifact = await _site(plane, person)
    async with plane.database.transaction() as tx:
        staging = await teams.insert_environment(tx, site)
    for each in (env, staging):
        path = f"/v1/sites/{site}/environments/{each}"
        listed = (await person.session.get(f"{path}/artifacts")).json()["data"]
        assert [found["id"] for found in listed] == [artifact]
        assert listed[0]["signature_ref"] == "dsse:sha256:none"
        answer = await person.session.post(f"{path}/deployments", json={"artifact_id": artifact})
        job = answer.json()["data"]
        assert (job["type"], job["resource"]["env_id"]) == ("deployment.deploy_artifact", each)
        ((deployment),) = (await person.session.get(f"{path}/deployments")).json()["data"]
        assert (deployment["id"], deployment["status"]) == (job["resource"]["id"], "pending")
        assert deployment["job_id"] == job["id"]


async def test_a_promotion_to_an_environment_that_the_key_does_not_see_is_refused(
    plane: ControlPlane, person: Person, pinned: Pin, stranger: Person
):
    site, _, artifact = await _site(plane, person)
    _, other, _ = await _site(plane, person)
    _, theirs, _ = await _site(plane, stranger)
    async with plane.database.transaction() as tx:
        staging = await teams.insert_environment(tx, site)
        await teams.insert_deployment(tx, site, staging, artifact)
    path = f"/v1/sites/{site}/environments/{staging}/promote"
    for target in (other, theirs, new_id("env"), "x"):
        answer = await person.session.post(path, json={"to_env": target})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "environment.not_found")
    key = await pinned(person, ("environment", staging))
    answer = await key.post(path, json={"to_env": "production"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "environment.not_found")
    assert (await person.session.post(path, json={"to_env": "production"})).status_code == 202


async def test_a_rollback_to_a_removed_artifact_is_refused(plane: ControlPlane, person: Person):
    site, env, artifact = await _site(plane, person)
    async with plane.database.transaction() as tx:
        former = await teams.insert_deployment(tx, site, env, artifact, status="superseded")
        await tx.run("delete from artifacts where id = $1", artifact)
    answer = await person.session.post(f"/v1/sites/{site}/environments/{env}/deployments/{former}/rollback")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "deployment.artifact_not_kept")


@pytest.mark.parametrize("status", ["suspended", "provisioning"])
async def test_a_deployment_requires_a_running_environment(plane: ControlPlane, person: Person, status: str):
    site, env, artifact = await _site(plane, person)
    async with plane.database.transaction() as tx:
        await tx.run("update environments set status = $2 where id = $1", env, status)
    path = f"/v1/sites/{site}/environments/{env}/deployments"
    answer = await person.session.post(path, json={"artifact_id": artifact})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "environment.not_ready")


async def test_an_environment_has_one_live_deployment_after_concurrent_changes(
    plane: ControlPlane, person: Person
):
    _, env, artifact = await _site(plane, person)

    async def record() -> None:
        async with plane.database.transaction() as tx:
            await service.record_live(tx, env, artifact, None, "clone")

    ended = await asyncio.gather(*(record() for _ in range(6)), return_exceptions=True)
    assert all(each is None or isinstance(each, UniqueViolation) for each in ended)
    assert None in ended
    async with plane.database.reading() as tx:
        live = await service.find_live(tx, env)
        release, ref = await tx.one(
            lambda *row: row, "select release, git_ref from environments where id = $1", env
        ) or (None, None)
    assert live is not None
    assert live.artifact_id == artifact
    assert (release, ref) == (live.digest.removeprefix("sha256:"), "main")
