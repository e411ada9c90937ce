"""Sample content: every simulated site has a first post."""

from tests.feature_samples import Samples, Values
from tests.people import Person


async def _content(_: Person, __: Values) -> str:
    return "1"


SAMPLES = Samples(
    path_makers={"content_id": _content},
    path_ids={"content_id": lambda _: "1"},
    silent_operations={
        f"content.{verb}{form}": "A site changes its content itself; the audit trail records the request."
        for verb in ("create", "update", "delete")
        for form in ("", "_in_environment")
    },
)
