"""Sample deployments for the suites that cover every operation."""

from dataclasses import replace
from typing import Any

from stead.control.artifacts.rules import ArtifactNotFound
from stead.control.deployments.rules import DeploymentNotFound, VisibleDeployment
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import EnvironmentNotFound
from tests.control.environments.samples import staging_with_deployment
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_with_environment
from tests.matrix.world import World
from tests.people import Person
from tests.teams import insert_artifact, insert_deployment


async def _deployment(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        artifact = await insert_artifact(tx, made["site_id"])
        return await insert_deployment(tx, made["site_id"], made["env_id"], artifact)


async def _own_artifact(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"artifact_id": await insert_artifact(tx, made["site_id"])}


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        artifact = world.artifacts[flavour]
        deployment = await insert_deployment(tx, env.site or "", env.id, artifact)
        world.add(flavour, replace(env, kind=VisibleDeployment, id=deployment))


SAMPLES = Samples(
    path_makers={"deployment_id": _deployment},
    path_makers_of={"deployments.promote": {"env_id": staging_with_deployment}},
    body_makers={"deployments.create": _own_artifact},
    visibility={VisibleDeployment: (sees_with_environment, DeploymentNotFound)},
    make_things=_make_things,
    path_ids={"deployment_id": lambda asking: asking.world.thing(VisibleDeployment, asking.flavour).id},
    body_values={"artifact_id": lambda asking: asking.world.artifacts[asking.flavour]},
    foreign_ids={
        "artifact_id": (ArtifactNotFound.code, lambda world, flavour: world.artifacts[flavour]),
        "to_env": (EnvironmentNotFound.code, lambda world, flavour: world.staging[flavour].id),
    },
)
