"""Sample projects for the suites that cover every operation."""

from typing import Any

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_project, insert_site, owner_of


async def _project(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_project(tx, **owner_of(person, made))


async def _own_site(person: Person, made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"site_id": await insert_site(tx, **owner_of(person, made))}


_MUTATIONS = ("create", "update", "delete", "assign_site", "remove_site")

SAMPLES = Samples(
    path_makers={"project_id": _project},
    body_makers={"projects.assign_site": _own_site, "team_projects.assign_site": _own_site},
    silent_operations={
        f"{group}.{name}": "a project is only a label"
        for group in ("projects", "team_projects")
        for name in _MUTATIONS
    },
    audit_locations={
        "projects.assign_site": lambda asking, _: (None, asking.world.loose_sites["personal"].id),
        "team_projects.assign_site": lambda asking, _: (
            asking.world.team,
            asking.world.loose_sites["team"].id,
        ),
    },
)
