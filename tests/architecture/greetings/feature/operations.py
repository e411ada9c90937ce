"""HTTP operations on greetings."""

from stead.control.greetings import service
from stead.control.greetings.schema import NewGreeting

from stead.control.environments.rules import EnvironmentNotFound, VisibleEnvironment
from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView

operation = Operations(tag="Greetings")


@operation(
    "POST /v1/sites/{site_id}/environments/{env_id}/greetings",
    id="greetings.send",
    scope="environments:write",
    job="greeting.send",
    extension="It shows how a feature is added.",
    errors=[EnvironmentNotFound, JobsWaiting],
)
async def send_greeting(call: Call, environment: VisibleEnvironment, body: NewGreeting) -> JobView:
    """Send a greeting to an environment."""
    return await service.send(call.tx, environment, body)
