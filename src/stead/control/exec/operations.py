"""The HTTP operation that runs a command."""

from stead.control.environments.rules import EnvironmentBusy, EnvironmentNotFound, VisibleEnvironment
from stead.control.exec import service
from stead.control.exec.schema import NewCommand
from stead.control.http.operations import Call, Operations
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.sites.rules import SiteBusy

operation = Operations(tag="Environments")


@operation(
    "POST /v1/sites/{site_id}/environments/{env_id}/exec",
    id="exec.run",
    scope="cms.cli:exec",
    job="job.exec",
    capability="exec",
    errors=[EnvironmentNotFound, EnvironmentBusy, SiteBusy, JobsWaiting],
)
async def run_command(call: Call, environment: VisibleEnvironment, body: NewCommand) -> JobView:
    """Run a command of WP-CLI in an environment. What it prints is the output of the job.

    A key with the scope `cms.cli:exec` operates the site: it cannot run PHP, read or write arbitrary files,
    or make somebody an administrator. Every other command is refused with 403 and needs the scope `exec:raw`.
    Sessions have no such limit. If the command ends with an exit code other than 0, the job fails with
    `exec.failed`, and its message contains the exit code.
    """
    return await service.run(call.tx, call.caller, call.sealer, environment, body)
