"""Steps that several jobs of environments share."""

from stead.control.certificates import service as certificates
from stead.control.deployments.rules import Deployment
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import maintenance
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_FAILED
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.rules import (
    Environment,
    EnvironmentBusy,
    EnvironmentStatus,
    previous_statuses,
)
from stead.control.jobs.definition import Announcement, FailureHandler, NodeCommand, Refused, Results
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work.hosting import Probe, RemoveEnvironment

EnvironmentJob = Job[EnvironmentWork]

_IN_PROGRESS: tuple[EnvironmentStatus, ...] = ("provisioning", "suspending", "deleting")


async def get_environment(tx: Tx, job: EnvironmentJob) -> Environment:
    return await environments.get(tx, job.params.environment)


async def probe(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    environment = await get_environment(tx, job)
    return await node_commands.build_environment_command(tx, environment, Probe(environment.subdomain))


async def remove_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await node_commands.build_command_if_placed(
        tx, await get_environment(tx, job), RemoveEnvironment()
    )


async def serve(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    return await announcements.serve_environment(tx, job.params.environment)


async def withdraw(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    return await announcements.withdraw_environment(tx, job.params.environment)


async def serve_as_before(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    """The announcement depends on the status, so the status is restored first."""
    await restore_status(tx, job)
    return await serve(tx, job)


async def simulate_route(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    environment = await get_environment(tx, job)
    return await node_commands.simulate_route(tx, environment, environment.subdomain)


async def simulate_route_removal(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await node_commands.simulate_route_removal(tx, await get_environment(tx, job))


async def remove_placement(tx: Tx, job: EnvironmentJob) -> None:
    await environments.set_node(tx, (await get_environment(tx, job)).id, None)


async def change_status(
    tx: Tx, job: EnvironmentJob, status: EnvironmentStatus, *, after: tuple[EnvironmentStatus, ...]
) -> Environment:
    if not await environments.set_status(tx, job.params.environment, status, after=after):
        raise Refused(EnvironmentBusy.code, f"The environment cannot become {status} now.")
    return await get_environment(tx, job)


async def restore_status(tx: Tx, job: EnvironmentJob) -> None:
    """Return to the status before the job, unless something else has changed it since."""
    work = job.params
    after = tuple(status for status in _IN_PROGRESS if status in previous_statuses(work.status_before))
    await environments.set_status(
        tx, work.environment, work.status_before, after=after, reason=work.reason_before
    )


async def mark_running(tx: Tx, job: EnvironmentJob) -> Environment:
    """The environment is in service; from now on its host needs a certificate."""
    environment = await change_status(tx, job, "running", after=("provisioning",))
    facts = await sites.get_facts(tx, job.site_id)
    if not facts.is_test:
        await certificates.request_certificate(tx, job.site_id, environment.subdomain, facts.region)
    return environment


def build_results(environment: Environment, deployment: Deployment | None = None) -> Results:
    results: Results = {"env_id": environment.id, "url": f"https://{environment.subdomain}/"}
    if environment.branch is not None:
        results["branch"] = environment.branch
    if deployment is not None:
        results |= {"deployment_id": deployment.id, "release_id": deployment.id}
        results |= {"artifact_id": deployment.artifact_id, "digest": deployment.digest}
    return results


async def publish_failure(tx: Tx, job: EnvironmentJob, action: str, reason: str) -> None:
    environment = await get_environment(tx, job)
    await environments.publish_event(tx, environment, ENV_FAILED, job.id, action=action, reason=reason)


def restore_after_failure(action: str) -> FailureHandler:
    """For jobs that change the status: every step was undone, so the status before the job is right again."""

    async def failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
        await restore_status(tx, job)
        await publish_failure(tx, job, action, reason)
        await maintenance.restore_if_moved(tx, job)

    return failed
