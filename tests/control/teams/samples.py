"""Sample teams for the suites that cover every operation."""

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_team


async def _team(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        return await insert_team(tx, person.id)


SAMPLES = Samples(
    path_makers={"team_id": _team},
    audit_locations={"teams.create": lambda _, response: (response.json()["data"]["team_id"], None)},
)
