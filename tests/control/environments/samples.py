"""Sample environments for the suites that cover every operation."""

from typing import Any

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import environment_of, insert_artifact, insert_deployment, insert_environment


async def _environment(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await environment_of(tx, made["site_id"])


async def _suspended(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_environment(tx, made["site_id"], status="suspended")


async def staging_with_deployment(person: Person, made: Values) -> str:
    """A staging environment that serves a deployment."""
    async with person.transaction() as tx:
        env = await insert_environment(tx, made["site_id"])
        await insert_deployment(tx, made["site_id"], env, await insert_artifact(tx, made["site_id"]))
    return env


async def _files(_: Person, __: Values) -> dict[str, Any]:
    return {"mode": "files"}


SAMPLES = Samples(
    path_makers={"env_id": _environment},
    path_makers_of={
        **{
            f"environments.{verb}": {"env_id": staging_with_deployment}
            for verb in ("destroy", "suspend", "refresh", "reset", "push")
        },
        "environments.resume": {"env_id": _suspended},
    },
    body_makers={"environments.push": _files},
    silent_operations={
        "environments.lock": "nothing that is served changes; the environment shows the reason",
        "environments.unlock": "nothing that is served changes",
    },
    open_to_test_keys=frozenset({"environments.lock", "environments.unlock"}),
)
