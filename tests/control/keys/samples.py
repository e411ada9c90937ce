"""Sample API keys for the suites that cover every operation."""

from tests.feature_samples import Samples, Values
from tests.people import Person


async def _key(person: Person, _made: Values) -> str:
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["*"]})
    return str(minted.json()["data"]["id"])


SAMPLES = Samples(path_makers={"key_id": _key})
