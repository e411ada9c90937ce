"""Sample snapshots for the suites that cover every operation."""

from dataclasses import replace

from stead.control.backups.rules import SnapshotNotFound, VisibleSnapshot
from stead.control.engines.postgres import Tx
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_site
from tests.matrix.world import World
from tests.people import Person
from tests.teams import environment_of, insert_snapshot


async def _snapshot(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        env = await environment_of(tx, made["site_id"])
        return await insert_snapshot(tx, made["site_id"], env)


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        snapshot = await insert_snapshot(tx, env.site or "", env.id)
        world.add(flavour, replace(env, kind=VisibleSnapshot, id=snapshot))


SAMPLES = Samples(
    path_makers={"snapshot_id": _snapshot},
    visibility={VisibleSnapshot: (sees_site, SnapshotNotFound)},
    make_things=_make_things,
    path_ids={"snapshot_id": lambda asking: asking.world.thing(VisibleSnapshot, asking.flavour).id},
    open_to_test_keys=frozenset({"backups.create", "backups.restore"}),
)
