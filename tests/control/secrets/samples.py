"""Sample secrets for the suites that cover every operation."""

from stead.control.engines.postgres import Tx
from tests.feature_samples import Samples, Values
from tests.matrix.world import World
from tests.people import Person
from tests.teams import insert_secret

NAME = "API_TOKEN"


async def _secret(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        await insert_secret(tx, made["env_id"], NAME)
    return NAME


async def _make_things(tx: Tx, world: World) -> None:
    for _, env in world.environments():
        await insert_secret(tx, env.id, NAME)


SAMPLES = Samples(
    path_makers={"name": _secret},
    make_things=_make_things,
    path_ids={"name": lambda _: NAME},
    silent_operations={
        "secrets.set": "nothing changes until the next build; the audit trail has who and when",
        "secrets.delete": "nothing changes until the next build; the audit trail has who and when",
    },
    open_to_test_keys=frozenset({"secrets.set", "secrets.delete"}),
)
