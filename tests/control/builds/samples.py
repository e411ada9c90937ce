"""Sample builds for the suites that cover every operation."""

from dataclasses import replace

from stead.control.builds.rules import BuildNotFound, VisibleBuild
from stead.control.engines.postgres import Tx
from stead.shared.errors import FieldInvalid
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_with_environment
from tests.matrix.world import World
from tests.people import Person
from tests.teams import insert_build, insert_upload


class Upload:
    """An archive that a build of the site can use."""


async def _build(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_build(tx, made["site_id"], made["env_id"])


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        build = await insert_build(tx, env.site or "", env.id)
        world.add(flavour, replace(env, kind=VisibleBuild, id=build))
        upload = await insert_upload(tx, env.site or "")
        world.add(flavour, replace(env, kind=Upload, id=upload))


SAMPLES = Samples(
    path_makers={"build_id": _build},
    visibility={VisibleBuild: (sees_with_environment, BuildNotFound)},
    make_things=_make_things,
    path_ids={"build_id": lambda asking: asking.world.thing(VisibleBuild, asking.flavour).id},
    foreign_ids={
        name: (FieldInvalid.code, lambda world, flavour: world.thing(Upload, flavour).id)
        for name in ("source", "upload_id")
    },
)
