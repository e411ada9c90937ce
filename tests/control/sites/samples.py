"""Sample sites for the suites that cover every operation."""

from typing import Any

from stead.shared.ids import new_id
from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_site, insert_team, owner_of


async def _site(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_site(tx, project=made.get("project_id"), **owner_of(person, made))


async def _deleted_site(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_site(tx, account=person.id, status="deleted")


async def _new_domain(_person: Person, _made: Values) -> dict[str, Any]:
    return {"domain": f"{new_id('walk').replace('_', '-')}.example.com"}


async def _its_domain(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"confirm_domain": await tx.value("select domain from sites where id = $1", made["site_id"])}


async def _own_team(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"to_team_id": await insert_team(tx, person.id)}


SAMPLES = Samples(
    path_makers={"site_id": _site},
    path_makers_of={"sites.recover": {"site_id": _deleted_site}},
    body_makers={"sites.create": _new_domain, "sites.delete": _its_domain, "sites.transfer": _own_team},
    audit_locations={
        "sites.create": lambda _, response: (None, response.json()["data"]["resource"]["site_id"]),
        "sites.recover": lambda asking, _: (
            asking.world.deleted_sites[asking.flavour].team,
            asking.world.deleted_sites[asking.flavour].id,
        ),
    },
    # A transfer is recorded in the old and in the new team of the site.
    audit_entries={"sites.transfer": 2},
)
