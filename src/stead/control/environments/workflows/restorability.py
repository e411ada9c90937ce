"""Whether the release that production serves could be deployed again."""

from stead.control.backups.releases import verify_release
from stead.control.deployments import service as deployments
from stead.control.environments import service as environments
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import WorkerContext


async def verify_production(context: WorkerContext, job: EnvironmentJob) -> None:
    """Refuse the push unless a rollback is possible. The placeholder page needs no check; every node has
    it."""
    async with context.database.transaction() as tx:
        production = await environments.get_production(tx, job.site_id)
        release = await deployments.find_live_release(tx, production.id)
    if release is not None:
        await verify_release(release, context.objects)
