"""Sample events: every simulated site has one that is repeated."""

from stead.control.environments.rules import VisibleEnvironment
from stead.node.drivers.simulated_cms import new_site, view_event
from tests.feature_samples import Samples, Values
from tests.people import Person
from tests.teams import environment_of


def _first_event(environment: str) -> str:
    return str(view_event(new_site()["cron"][0], environment)["id"])


async def _event(person: Person, made: Values) -> str:
    env = made.get("env_id", "production")
    async with person.transaction() as tx:
        return _first_event(await environment_of(tx, made["site_id"]) if env == "production" else env)


SAMPLES = Samples(
    path_makers={"cron_id": _event},
    path_ids={
        "cron_id": lambda asking: _first_event(asking.world.thing(VisibleEnvironment, asking.flavour).id)
    },
    silent_operations={
        f"cron.{verb}{form}": "A site changes its events all the time; the audit trail records the request."
        for verb in ("create", "update", "delete")
        for form in ("", "_in_environment")
    },
)
