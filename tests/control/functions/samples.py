"""Sample functions for the suites that cover every operation."""

from dataclasses import replace
from typing import Any

import httpx

from stead.control.engines.postgres import Tx
from stead.control.functions.rules import FunctionNotFound, VersionNotFound, VisibleFunction
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_site
from tests.matrix.world import World
from tests.people import Person
from tests.teams import (
    OwnedBy,
    insert_function,
    insert_function_artifact,
    insert_function_version,
    insert_site,
)

CHANGES = tuple(f"functions.{verb}" for verb in ("update", "build", "deploy", "rollback", "delete"))


class FunctionVersion:
    """A version that a function can be rolled back to."""


class FunctionArtifact:
    """What was built for a function."""


async def _site(tx: Tx, **owner: Any) -> str:
    site = await insert_site(tx, **owner)
    await tx.run("update sites set profile = 'wasm', runtime = 'wasm' where id = $1", site)
    return site


async def _function(person: Person, _: Values) -> str:
    async with person.transaction() as tx:
        owner: OwnedBy = {"account": person.id}
        return await insert_function(tx, await _site(tx, **owner))


async def _own_site(person: Person, _: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"site_id": await _site(tx, account=person.id)}


async def _own_artifact(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"artifact_id": await insert_function_artifact(tx, made["function_id"])}


async def _own_version(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        artifact = await insert_function_artifact(tx, made["function_id"])
        return {"version_id": await insert_function_version(tx, made["function_id"], artifact)}


async def _make_things(tx: Tx, world: World) -> None:
    # The sites that bodies name. First, because only insertions are executed together.
    loose = [each.id for each in world.loose_sites.values()]
    await tx.run("update sites set profile = 'wasm', runtime = 'wasm' where id = any($1)", loose)
    for flavour, env in world.environments():
        function = await insert_function(tx, env.site or "")
        artifact = await insert_function_artifact(tx, function, site=env.site or "", env=env.id)
        version = await insert_function_version(tx, function, artifact)
        for kind, id_ in (
            (VisibleFunction, function),
            (FunctionArtifact, artifact),
            (FunctionVersion, version),
        ):
            world.add(flavour, replace(env, kind=kind, id=id_))


def _audited_site(asking: Any, _: httpx.Response) -> tuple[str | None, str | None]:
    function = asking.world.thing(VisibleFunction, asking.flavour)
    return function.team, function.site


SAMPLES = Samples(
    path_makers={"function_id": _function},
    body_makers={
        "functions.create": _own_site,
        "functions.deploy": _own_artifact,
        "functions.rollback": _own_version,
    },
    visibility={VisibleFunction: (sees_site, FunctionNotFound)},
    make_things=_make_things,
    path_ids={"function_id": lambda asking: asking.world.thing(VisibleFunction, asking.flavour).id},
    body_values={
        "NewFunctionDeployment.artifact_id": lambda asking: (
            asking.world.thing(FunctionArtifact, asking.flavour).id
        ),
        "version_id": lambda asking: asking.world.thing(FunctionVersion, asking.flavour).id,
    },
    foreign_ids={
        "version_id": (VersionNotFound.code, lambda world, flavour: world.thing(FunctionVersion, flavour).id)
    },
    open_to_test_keys=frozenset({"functions.create", *CHANGES}),
    audit_locations={
        "functions.create": lambda asking, response: (
            asking.world.loose_sites[asking.flavour].team,
            response.json()["data"]["site_id"],
        ),
        **dict.fromkeys(CHANGES, _audited_site),
    },
)
