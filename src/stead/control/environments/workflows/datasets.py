"""Steps that give a WordPress environment other files and rows: copied from production or installed anew, out
of sight, and then served in one step. For other sites they do nothing.

Test sites have no files and rows, so the simulator is always asked.
"""

from typing import Any

from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
from stead.control.environments.workflows import releases
from stead.control.environments.workflows.steps import EnvironmentJob, get_environment
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.rules import NoNode
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work import DiscardDataset, EnsureEnvironment, PrepareDataset

_NAME_LENGTH = 14
"""The random part of the id of a job."""


def dataset_of(job: Job[Any]) -> str:
    """Every job makes a dataset of its own, and the same one when it is repeated."""
    return job.id[-_NAME_LENGTH:]


async def prepare_copy(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """A copy of what production has now."""
    production = await environments.get_production(tx, job.site_id)
    served = await domains.list_served_hosts(tx, production.id)
    return await _prepare(tx, job, production, tuple(dict.fromkeys([*served, production.subdomain])))


async def prepare_installation(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """A new WordPress."""
    return await _prepare(tx, job, None, ())


async def _prepare(
    tx: Tx, job: EnvironmentJob, source: Environment | None, hosts: tuple[str, ...]
) -> NodeCommand | None:
    if not await has_datasets(tx, job):
        return None
    environment = await get_environment(tx, job)
    work = PrepareDataset(
        (await sites.get_facts(tx, job.site_id)).runtime,
        dataset_of(job),
        await releases.build_settings(tx, environment),
        source.id if source else "",
        job.params.copy_uploads,
        hosts,
    )
    return await node_commands.build_environment_command(tx, environment, work)


async def serve(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """With the release that the job has chosen."""
    if not await has_datasets(tx, job):
        return None
    work = await releases.build_new_environment_work(tx, job, dataset_of(job))
    return await node_commands.build_environment_command(tx, await get_environment(tx, job), work)


async def discard(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """The environment serves what it served before the job, also the release."""
    if not await has_datasets(tx, job):
        return None
    work = DiscardDataset((await sites.get_facts(tx, job.site_id)).runtime, dataset_of(job))
    return await node_commands.build_command_if_placed(tx, await get_environment(tx, job), work)


async def prepare_push(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """A dataset of production with what the environment has now."""
    if not await has_datasets(tx, job):
        return None
    facts = await sites.get_facts(tx, job.site_id)
    source, production = await get_environment(tx, job), await environments.get_production(tx, job.site_id)
    is_near = source.node_id == production.node_id
    if not is_near and not facts.is_test:
        raise Refused(NoNode.code, "The environment is not on the node of production any more: refresh it.")
    served = await domains.list_served_hosts(tx, source.id)
    work = PrepareDataset(
        facts.runtime,
        dataset_of(job),
        await releases.build_settings(tx, production),
        source.id if is_near else "",
        hosts=tuple(dict.fromkeys([*served, source.subdomain])),
        push=job.params.push,
    )
    return await node_commands.build_environment_command(tx, production, work)


async def serve_push(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """With the release that is pushed, or else the one that production serves."""
    if not await has_datasets(tx, job):
        return None
    runtime = (await sites.get_facts(tx, job.site_id)).runtime
    production = await environments.get_production(tx, job.site_id)
    release = await releases.find_pushed_release(tx, job, production.id)
    settings = await releases.build_settings(tx, production)
    work = EnsureEnvironment(runtime, release, settings, dataset_of(job), job.params.push)
    return await node_commands.build_environment_command(tx, production, work)


async def discard_push(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """Production serves what it served before the job."""
    if not await has_datasets(tx, job):
        return None
    work = DiscardDataset((await sites.get_facts(tx, job.site_id)).runtime, dataset_of(job))
    production = await environments.get_production(tx, job.site_id)
    return await node_commands.build_command_if_placed(tx, production, work)


async def record_schema(tx: Tx, job: EnvironmentJob) -> None:
    """The environment uses the schema of the dataset that the job has made."""
    if await has_datasets(tx, job):
        await environments.set_dataset(tx, job.params.environment, dataset_of(job))


async def record_pushed_schema(tx: Tx, job: EnvironmentJob) -> None:
    """A push of files leaves the schema of production alone."""
    if job.params.push != "files" and await has_datasets(tx, job):
        production = await environments.get_production(tx, job.site_id)
        await environments.set_dataset(tx, production.id, dataset_of(job))


async def has_processes(tx: Tx, job: EnvironmentJob) -> bool:
    return (await sites.get_facts(tx, job.site_id)).runtime in node_commands.WITH_PROCESSES


async def has_datasets(tx: Tx, job: EnvironmentJob) -> bool:
    return await has_processes(tx, job) or (await sites.get_facts(tx, job.site_id)).is_test
