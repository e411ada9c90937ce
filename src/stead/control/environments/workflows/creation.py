"""Creating an environment: a copy of production on a host of its own."""

from collections.abc import Sequence

from stead.control.engines.postgres import Tx
from stead.control.environments import jobs
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_CREATED
from stead.control.environments.workflows import datasets, releases, steps
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    control_step,
    node_step,
)
from stead.control.jobs.rules import NoNode
from stead.control.nodes import service as nodes
from stead.control.sites import node_commands
from stead.control.sites import service as sites
from stead.control.wordpress import service as wordpress

_NO_ROOM = (
    "A copy of a WordPress site is made on the node of production, and that node cannot take another"
    " environment now. Destroy an environment that is not needed, or ask the operator to make room on it."
)


async def _place(tx: Tx, job: EnvironmentJob) -> None:
    """On the node of production if that has room: the release is there already. Files and rows are copied on
    that node, so an environment that has them can be on no other one."""
    environment = await steps.get_environment(tx, job)
    if environment.node_id is not None:
        return
    facts = await sites.get_facts(tx, job.site_id)
    production = await environments.get_production(tx, job.site_id)
    near = await datasets.has_processes(tx, job)
    try:
        node = await nodes.choose_node(
            tx,
            facts.region,
            facts.needed_runtime,
            waiting_since=job.dispatched_at,
            prefer=production.node_id,
            disk_mb=0 if facts.is_test else await wordpress.get_promised_mb(tx, job.site_id),
        )
    except Refused:
        if near:
            # Not the reason of the exception, which names regions that have room.
            raise Refused(NoNode.code, _NO_ROOM) from None
        raise
    if near and node != production.node_id:
        raise Refused(NoNode.code, _NO_ROOM)
    await environments.set_node(tx, environment.id, node)


async def _remove_copy(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """Where there is no data to copy, the undo of the next step removes the environment."""
    return await steps.remove_environment(tx, job) if await datasets.has_datasets(tx, job) else None


async def _ensure_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    has_dataset = await datasets.prepare_copy(tx, job) is not None
    work = await releases.build_new_environment_work(tx, job, datasets.dataset_of(job) if has_dataset else "")
    return await node_commands.build_environment_command(tx, await steps.get_environment(tx, job), work)


async def _withdraw(tx: Tx, job: EnvironmentJob) -> Announcement | None:
    await environments.set_release(tx, job.params.environment, None)
    return await steps.withdraw(tx, job)


async def _finish(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.mark_running(tx, job)
    deployment = await releases.finish_deployment(tx, job)
    await datasets.record_schema(tx, job)
    await environments.publish_event(tx, environment, ENV_CREATED, job.id)
    return steps.build_results(environment, deployment)


async def _failed(tx: Tx, job: EnvironmentJob, reason: str) -> None:
    await environments.set_status(
        tx, job.params.environment, "failed", after=("provisioning",), reason=reason
    )
    await releases.fail_deployment(tx, job, reason)
    await steps.publish_failure(tx, job, "create", reason)


_STEPS: Sequence[Step] = (
    control_step("place", _place, undo=steps.remove_placement),
    control_step("content", releases.start_clone),
    node_step("data", datasets.prepare_copy, undo=_remove_copy),
    node_step("environment", _ensure_environment, undo=steps.remove_environment),
    Step(
        "route",
        command=steps.simulate_route,
        announce=releases.switch_release,
        undo_command=steps.simulate_route_removal,
        undo_announce=_withdraw,
    ),
    node_step("probe", steps.probe),
    control_step("open", _finish),
)

CLONE = Workflow(jobs.CLONE, steps=_STEPS, failed=_failed)
CREATE = Workflow(jobs.CREATE, steps=_STEPS, failed=_failed)
