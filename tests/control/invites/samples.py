"""Sample invites for the suites that cover every operation."""

from typing import Any

from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_account, insert_invite, insert_team


async def _invite(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        invite, _ = await insert_invite(tx, made["team_id"], person.id)
    return invite


async def _invitation(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        host = await insert_account(tx)
        team = await insert_team(tx, host.id)
        _, token = await insert_invite(tx, team, host.id)
    return {"token": token}


SAMPLES = Samples(
    path_makers={"invite_id": _invite},
    body_makers={"invites.accept": _invitation},
    audit_locations={"invites.accept": lambda asking, _: (asking.world.entry_team, None)},
)
