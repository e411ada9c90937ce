"""Sample greetings for the suites that cover every operation and job."""

from collections.abc import Mapping
from typing import Any

from tests.feature_samples import Samples


def _scenarios() -> Mapping[str, Any]:
    from tests.faults.jobs.harness import Harness
    from tests.faults.jobs.scenarios import SERVED, Scenario, Site, running_site

    async def greet(harness: Harness, site: Site) -> str:
        path = f"/v1/sites/{site.id}/environments/production/greetings"
        return str((await harness.ask("POST", path, {"text": "Hello"}))["id"])

    scenario = Scenario(
        running_site,
        greet,
        succeeded=SERVED,
        failed=SERVED,
        event="greeting.sent",
        afterwards=greet,
        cancelled_early=SERVED,
        refuse={"finish": None},
    )
    return {"greeting.send": scenario}


SAMPLES = Samples(scenarios=_scenarios)
