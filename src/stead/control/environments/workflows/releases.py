"""Steps that give an environment another release: chosen, fetched and probed by its node, then switched.

The choice is recorded as a deployment of the job. A job without a deployment switches to the placeholder
page.
"""

from stead.control.artifacts import service as artifacts
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import Deployment, DeploymentKind
from stead.control.domains import service as domains
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import (
    Environment,
    EnvironmentBusy,
    EnvironmentLocked,
    NothingToPush,
)
from stead.control.environments.workflows.steps import EnvironmentJob, publish_failure
from stead.control.jobs.definition import Announcement, FailureHandler, NodeCommand, Refused
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.control.wordpress import service as wordpress
from stead.protocol.work.hosting import EnsureEnvironment, Probe, WordPressSettings
from stead.protocol.work.releases import EnsureRelease, release_of


async def start_clone(tx: Tx, job: EnvironmentJob) -> None:
    production = await environments.get_production(tx, job.site_id)
    await _start_deployment(tx, job, production.id, job.params.environment, "clone")


async def start_refresh(tx: Tx, job: EnvironmentJob) -> None:
    await _require_running(tx, job.params.environment)
    await _require_unlocked(tx, job.params.environment)
    production = await environments.get_production(tx, job.site_id)
    await _start_deployment(tx, job, production.id, job.params.environment, "refresh")


async def start_reset(tx: Tx, job: EnvironmentJob) -> None:
    """Starts no deployment, so the placeholder page follows."""
    await _require_running(tx, job.params.environment)
    await _require_unlocked(tx, job.params.environment)


async def start_push(tx: Tx, job: EnvironmentJob) -> None:
    production = await environments.get_production(tx, job.site_id)
    for environment in (job.params.environment, production.id):
        await _require_running(tx, environment)
    await _require_unlocked(tx, production.id)
    has_data = (await sites.get_facts(tx, job.site_id)).runtime in node_commands.WITH_PROCESSES
    if job.params.push == "db":
        return
    started = await _start_deployment(tx, job, job.params.environment, production.id, "push")
    if not started and not has_data:
        raise Refused(NothingToPush.code, NothingToPush.message)


async def _start_deployment(
    tx: Tx, job: EnvironmentJob, source: str, target: str, kind: DeploymentKind
) -> bool:
    """Deploy the live release of one environment to another. Returns False for a placeholder page."""
    live = await deployments.find_live(tx, source)
    if live is not None:
        await deployments.start(tx, target, live.artifact_id, job.id, kind, from_id=live.id)
    return live is not None


async def _require_running(tx: Tx, environment: str) -> None:
    """The environment may have been suspended or destroyed since the job was queued."""
    status = (await environments.get(tx, environment)).status
    if status != "running":
        raise Refused(EnvironmentBusy.code, str(EnvironmentBusy(status=status)))


async def _require_unlocked(tx: Tx, environment: str) -> None:
    """The environment may have been locked since the job was queued."""
    try:
        await environments.require_unlocked(tx, environment)
    except EnvironmentLocked as refusal:
        raise Refused(refusal.code, str(refusal)) from None


async def build_settings(tx: Tx, environment: Environment) -> WordPressSettings | None:
    host = await domains.choose_host(tx, environment.id, environment.subdomain)
    return await wordpress.build_settings(tx, environment, host)


async def build_new_environment_work(tx: Tx, job: EnvironmentJob, dataset: str = "") -> EnsureEnvironment:
    """With the release that the job has chosen, and the dataset that it has made."""
    runtime = (await sites.get_facts(tx, job.site_id)).runtime
    deployment = await deployments.find_by_job(tx, job.id)
    release: EnsureRelease | None = None
    if deployment is not None:
        release = await artifacts.build_release_work(tx, job.site_id, deployment.artifact_id, runtime)
    settings = await build_settings(tx, await environments.get(tx, job.params.environment))
    return EnsureEnvironment(runtime, release, settings, dataset)


async def build_environment_work(tx: Tx, job: EnvironmentJob) -> EnsureEnvironment:
    """With the release that the environment serves: its node may have lost the files."""
    release = await deployments.find_live_release(tx, job.params.environment)
    settings = await build_settings(tx, await environments.get(tx, job.params.environment))
    return EnsureEnvironment((await sites.get_facts(tx, job.site_id)).runtime, release, settings)


async def has_deployment(tx: Tx, job: EnvironmentJob) -> bool:
    return await deployments.find_by_job(tx, job.id) is not None


async def find_pushed_release(tx: Tx, job: EnvironmentJob, production: str) -> EnsureRelease | None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is None:
        return await deployments.find_live_release(tx, production)
    runtime = (await sites.get_facts(tx, job.site_id)).runtime
    return await artifacts.build_release_work(tx, job.site_id, deployment.artifact_id, runtime)


async def fetch_release(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is None:
        return None
    return await deployments.build_release_command(tx, job.site_id, deployment.env_id, deployment.artifact_id)


async def probe_release(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """Probe the release before any visitor sees it."""
    deployment = await deployments.find_by_job(tx, job.id)
    environment = await environments.get(tx, _switched_environment(job, deployment))
    release = release_of(deployment.digest) if deployment else ""
    return await node_commands.build_environment_command(
        tx, environment, Probe(environment.subdomain, release=release)
    )


async def switch_release(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.switch_release(tx, deployment)
    else:
        await environments.set_release(tx, job.params.environment, None)
    return await announcements.serve_environment(tx, _switched_environment(job, deployment))


async def restore_release(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    """Until the job finishes, the live deployment is the one from before it."""
    deployment = await deployments.find_by_job(tx, job.id)
    environment = _switched_environment(job, deployment)
    live = await deployments.find_live(tx, environment)
    if deployment is not None:
        await deployments.switch_back(tx, deployment)
    await environments.set_release(tx, environment, release_of(live.digest) if live else None)
    return await announcements.serve_environment(tx, environment)


async def finish_deployment(tx: Tx, job: EnvironmentJob) -> Deployment | None:
    """Record what the environment serves since the switch: the deployment of the job, or no deployment."""
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.mark_live(tx, deployment)
    else:
        await deployments.reset_to_placeholder(tx, job.params.environment)
    return deployment


async def fail_deployment(tx: Tx, job: EnvironmentJob, reason: str) -> None:
    deployment = await deployments.find_by_job(tx, job.id)
    if deployment is not None:
        await deployments.set_status(tx, deployment.id, "failed", reason=reason)


def keep_release_after_failure(action: str) -> FailureHandler:
    """For jobs that change only the release. They never set the status of the environment, so another job may
    have changed it since: it is left alone."""

    async def failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
        await fail_deployment(tx, job, reason)
        await publish_failure(tx, job, action, reason)

    return failed


def _switched_environment(job: EnvironmentJob, deployment: Deployment | None) -> str:
    """A push switches production; every other job switches its own environment."""
    return deployment.env_id if deployment else job.params.environment
