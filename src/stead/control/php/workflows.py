"""The steps that switch the version of PHP. The database has the old version until all environments have the
new one, so the undo finds it there."""

from collections.abc import Callable

from stead.control.backups.snapshot_steps import build_snapshot_steps
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import Environment
from stead.control.jobs.definition import NodeCommand, Refused, Workflow, control_step, node_step
from stead.control.jobs.kinds import Job
from stead.control.jobs.rules import JobCancelled, NoNode
from stead.control.php import jobs
from stead.control.php.events import PHP_SWITCH_FAILED, PHP_SWITCHED
from stead.control.php.jobs import PhpWork
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.protocol.work.hosting import CheckPhp, SwitchPhp
from stead.protocol.work.kinds import Work

PhpJob = Job[PhpWork]


async def _check(tx: Tx, job: PhpJob) -> list[NodeCommand]:
    """All environments, before the first one is switched."""
    wanted = job.params
    if wanted.dry_run:
        raise Refused(JobCancelled.code, "A dry run is not a job any more. Send it again.")
    for env in await _list_environments(tx, job):
        if not await node_commands.has_reachable_processes(tx, env, job):
            raise Refused(NoNode.code, f"The node that hosts {env.subdomain} is not reachable.")
    return await _build_commands(
        tx,
        job,
        lambda env: CheckPhp("cms", wanted.version, env.subdomain, force=wanted.force),
    )


async def _switch(tx: Tx, job: PhpJob) -> list[NodeCommand]:
    return await _build_commands(tx, job, lambda _: SwitchPhp("cms", job.params.version))


async def _restore(tx: Tx, job: PhpJob) -> list[NodeCommand]:
    version = await sites.get_php_version(tx, job.site_id)
    if version is None or job.params.dry_run:
        return []
    return await _build_commands(tx, job, lambda _: SwitchPhp("cms", version, restore=True))


async def _build_commands(tx: Tx, job: PhpJob, build: Callable[[Environment], Work]) -> list[NodeCommand]:
    found = await _list_environments(tx, job)
    return [await node_commands.build_environment_command(tx, env, build(env)) for env in found]


async def _list_environments(tx: Tx, job: PhpJob) -> list[Environment]:
    """Production comes first. One without a node gets the version when it is placed."""
    placed = await environments.list_placed(tx, job.site_id)
    return [env for env in placed if env.status != "deleted"]


async def _finish(tx: Tx, job: PhpJob) -> None:
    previous = await sites.get_php_version(tx, job.site_id)
    await sites.set_php_version(tx, job.site_id, job.params.version)
    await sites.publish_job_event(tx, job, PHP_SWITCHED, php_version=job.params.version, previous=previous)


async def _failed(tx: Tx, job: PhpJob, reason: str) -> None:
    if not job.params.dry_run:
        await sites.publish_job_event(tx, job, PHP_SWITCH_FAILED, reason=reason)


SWITCH = Workflow(
    jobs.SWITCH,
    steps=[
        node_step("requirements", _check),
        *build_snapshot_steps("before_switch"),
        node_step("php", _switch, undo=_restore),
        control_step("done", _finish),
    ],
    failed=_failed,
)
