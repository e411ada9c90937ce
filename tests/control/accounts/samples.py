"""Sample accounts and sessions for the suites that cover every operation."""

from typing import Any

from stead.shared.ids import new_id
from tests.feature_samples import Samples, Values
from tests.people import PASSWORD, Person


async def _new_address(_person: Person, _made: Values) -> dict[str, Any]:
    return {"email": _new_email()}


async def _own_password(person: Person, _made: Values) -> dict[str, Any]:
    return {"email": person.account.email, "password": PASSWORD}


async def _new_account_facts(_person: Person, _made: Values) -> dict[str, Any]:
    return {"new_email": _new_email(), "current_password": PASSWORD}


def _new_email() -> str:
    return f"{new_id('walk')}@example.com"


SAMPLES = Samples(
    body_makers={
        "accounts.sign_up": _new_address,
        "sessions.create": _own_password,
        "account.update": _new_account_facts,
    },
    silent_operations={
        "account.update": "the name, address and password of a person concern nobody else",
        "sessions.revoke": "the end of a session concerns nobody else",
    },
)
