"""Sample members for the suites that cover every operation."""

from typing import Any

from stead.shared.roles import Role
from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import insert_account, insert_member


async def _member(person: Person, made: Values) -> str:
    async with person.transaction() as tx:
        account = await insert_account(tx)
        await insert_member(tx, made["team_id"], account.id, Role.OBSERVER)
    return account.id


async def _another_account(person: Person, _made: Values) -> dict[str, Any]:
    async with person.transaction() as tx:
        return {"client_id": (await insert_account(tx)).id}


SAMPLES = Samples(path_makers={"client_id": _member}, body_makers={"members.add": _another_account})
