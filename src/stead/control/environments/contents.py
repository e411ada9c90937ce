"""The content of environments: what is chosen for one, tried on its node, and shown; or as before.

Which deployment a job has chosen is found by the job. Where there is none, the placeholder is meant.
"""

from stead.control.artifacts import service as artifacts
from stead.control.deployments import service as deployments
from stead.control.deployments.rules import Deployment, DeploymentKind
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import copies
from stead.control.environments import service as environments
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.push_rules import NothingToPush
from stead.control.environments.rules import EnvironmentBusy
from stead.control.jobs.definition import Announcement, NodeCommand, Refused, WorkerContext
from stead.control.jobs.kinds import Job
from stead.control.sites import service as sites
from stead.protocol.work import EnsureEnvironment, EnsureRelease, Probe, release_of

ContentJob = Job[EnvironmentWork]


async def chosen_environment(tx: Tx, job: ContentJob) -> EnsureEnvironment:
    """A new one, with what it is going to show."""
    runtime, found = (await sites.facts(tx, job.site_id)).runtime, await deployments.of_job(tx, job.id)
    release: EnsureRelease | None = None
    if found is not None:
        release = await artifacts.release(tx, job.site_id, found.artifact_id, runtime)
    return EnsureEnvironment(runtime, release)


async def environment_as_it_was(tx: Tx, job: ContentJob) -> EnsureEnvironment:
    """With what it shows, which its node may have lost."""
    release = await deployments.release_work(tx, job.params.environment)
    return EnsureEnvironment((await sites.facts(tx, job.site_id)).runtime, release)


async def _choose(tx: Tx, job: ContentJob, source: str, target: str, kind: DeploymentKind) -> bool:
    """What one environment shows is what the other is going to show; False for a placeholder."""
    found = await deployments.current(tx, source)
    if found is not None:
        await deployments.begin(tx, target, found.artifact_id, job.id, kind, from_id=found.id)
    return found is not None


async def seed(tx: Tx, job: ContentJob) -> None:
    production = await environments.production(tx, job.site_id)
    await _choose(tx, job, production.id, job.params.environment, "clone")


async def reseed(tx: Tx, job: ContentJob) -> None:
    await _require_running(tx, job.params.environment)
    production = await environments.production(tx, job.site_id)
    await _choose(tx, job, production.id, job.params.environment, "refresh")


async def clear(tx: Tx, job: ContentJob) -> None:
    """Nothing is chosen: the placeholder follows."""
    await _require_running(tx, job.params.environment)


async def offer(tx: Tx, job: ContentJob) -> None:
    production = await environments.production(tx, job.site_id)
    for environment in (job.params.environment, production.id):
        await _require_running(tx, environment)
    if not await _choose(tx, job, job.params.environment, production.id, "push"):
        raise Refused(NothingToPush.code, NothingToPush.message)


async def _require_running(tx: Tx, environment: str) -> None:
    """It may have been paused or ended since it was asked for."""
    status = (await environments.get(tx, environment)).status
    if status != "running":
        raise Refused(EnvironmentBusy.code, str(EnvironmentBusy(status=status)))


async def fetch(tx: Tx, job: ContentJob) -> NodeCommand | None:
    chosen = await deployments.of_job(tx, job.id)
    if chosen is None:
        return None
    return await deployments.release_command(tx, job.site_id, chosen.env_id, chosen.artifact_id)


async def attempt(tx: Tx, job: ContentJob) -> NodeCommand | None:
    """Asked as if it were shown already, before any visitor sees it."""
    chosen = await deployments.of_job(tx, job.id)
    environment = await environments.get(tx, chosen.env_id if chosen else job.params.environment)
    release = release_of(chosen.digest) if chosen else ""
    return await sites.node_command(
        tx, job.site_id, environment, Probe(environment.subdomain, release=release)
    )


async def show(tx: Tx, job: ContentJob) -> Announcement | None:
    """What was chosen; where nothing was, the placeholder."""
    chosen = await deployments.of_job(tx, job.id)
    if chosen is not None:
        await deployments.switch(tx, chosen)
    else:
        await environments.show(tx, job.params.environment, None)
    return await announcements.serve_environment(tx, chosen.env_id if chosen else job.params.environment)


async def show_as_before(tx: Tx, job: ContentJob) -> Announcement | None:
    """Until a job has ended, its deployments say what is shown."""
    chosen = await deployments.of_job(tx, job.id)
    environment = chosen.env_id if chosen else job.params.environment
    current = await deployments.current(tx, environment)
    if chosen is not None:
        await deployments.switch_back(tx, chosen)
    await environments.show(tx, environment, release_of(current.digest) if current else None)
    return await announcements.serve_environment(tx, environment)


async def shown(tx: Tx, job: ContentJob) -> Deployment | None:
    """From now on its deployments say so too."""
    chosen = await deployments.of_job(tx, job.id)
    if chosen is not None:
        await deployments.go_live(tx, chosen)
    else:
        await deployments.go_bare(tx, job.params.environment)
    return chosen


async def give_up(tx: Tx, job: ContentJob, reason: str) -> None:
    chosen = await deployments.of_job(tx, job.id)
    if chosen is not None:
        await deployments.become(tx, chosen.id, "failed", reason=reason)


async def verify_production(desk: WorkerContext, job: ContentJob) -> None:
    """There is something to return to."""
    async with desk.database.reading() as tx:
        production = await environments.production(tx, job.site_id)
    await copies.verify(desk, production.id)
