"""Sample users: every simulated site has an administrator, and an editor who can be deleted."""

from typing import Any

from stead.shared.ids import new_id
from tests.feature_samples import Samples, Values
from tests.people import Person


async def _user(_: Person, __: Values) -> str:
    return "2"


async def _new(_: Person, __: Values) -> dict[str, Any]:
    name = new_id("client")
    return {"login": name, "email": f"{name}@example.com"}


SAMPLES = Samples(
    path_makers={"user_id": _user},
    path_ids={"user_id": lambda _: "2"},
    body_makers={f"cms_users.create{form}": _new for form in ("", "_in_environment")},
    silent_operations={
        f"cms_users.{verb}{form}": "A site changes its users itself; the audit trail records the request."
        for verb in ("create", "update", "delete")
        for form in ("", "_in_environment")
    },
)
