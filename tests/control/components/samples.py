"""Sample sites that answer questions about their plugins and themes."""

from dataclasses import replace

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment, VisibleProduction
from stead.control.features import all_operations
from stead.node.drivers.simulated_cms import list_components
from tests.answering_node import answering_site, place_on_answering_node
from tests.feature_samples import Samples, Values
from tests.matrix.world import World
from tests.people import Person
from tests.teams import environment_of

FAMILIES = ("components", "content", "cms_users", "cron", "database")
ASKING = [each.id for each in all_operations() if each.id.partition(".")[0] in FAMILIES]
"""Operations that ask a site."""


async def _component(person: Person, made: Values) -> str:
    env = made.get("env_id", "production")
    async with person.transaction() as tx:
        env = await environment_of(tx, made["site_id"]) if env == "production" else env
    return str(list_components(env)[0]["id"])


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        await place_on_answering_node(tx, env.site or "")
        world.add(flavour, replace(env, kind=VisibleProduction))


SAMPLES = Samples(
    path_makers={"component_id": _component},
    path_makers_of={name: {"site_id": answering_site} for name in ASKING},
    make_things=_make_things,
    path_ids={
        "component_id": lambda asking: str(
            list_components(asking.world.thing(VisibleEnvironment, asking.flavour).id)[0]["id"]
        )
    },
    open_to_test_keys=frozenset(ASKING),
)
