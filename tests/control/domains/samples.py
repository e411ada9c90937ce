"""Sample domains for the suites that cover every operation."""

import secrets
from dataclasses import replace
from typing import Any

from stead.control.domains.rules import DomainNotFound, VisibleDomain
from stead.control.engines.postgres import Tx
from tests.feature_samples import Samples, Values
from tests.matrix.visibility import sees_with_environment
from tests.matrix.world import World
from tests.people import Person
from tests.teams import insert_domain


async def _domain(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_domain(tx, made["env_id"])


async def _free_name(_: Person, __: Values) -> dict[str, Any]:
    return {"hostname": f"d{secrets.token_hex(6)}.example.com"}


async def _make_things(tx: Tx, world: World) -> None:
    for flavour, env in world.environments():
        domain = await insert_domain(tx, env.id)
        world.add(flavour, replace(env, kind=VisibleDomain, id=domain))


SAMPLES = Samples(
    path_makers={"domain_id": _domain},
    body_makers={"domains.attach": _free_name},
    visibility={VisibleDomain: (sees_with_environment, DomainNotFound)},
    make_things=_make_things,
    path_ids={"domain_id": lambda asking: asking.world.thing(VisibleDomain, asking.flavour).id},
    body_values={"hostname": lambda _: f"d{secrets.token_hex(6)}.example.com"},
    silent_operations={
        "domains.verify": "Looking a domain up changes nothing by itself; its result publishes an event."
    },
)
