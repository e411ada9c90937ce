"""What happens to environments without a request: idle ones are suspended, those whose branch was deleted are
destroyed, those on an unreachable node are marked as failed, and those of a lost node are restored."""

from datetime import UTC, datetime, timedelta

from stead.control.engines.postgres import Tx
from stead.control.environments import jobs as kinds
from stead.control.environments import maintenance_store as store
from stead.control.environments import relocation_store, service
from stead.control.environments.events import ENV_DESTROY_CALLED_OFF, ENV_DESTROY_SCHEDULED
from stead.control.environments.jobs import EnvironmentWork
from stead.control.environments.relocation_store import HostedEnvironment
from stead.control.environments.rules import BRANCH_GRACE
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import Job
from stead.control.nodes.rules import LOST_AFTER
from stead.protocol.commands import Activity

BATCH_SIZE = 20
"""How many environments one transaction changes."""


async def suspend_idle(tx: Tx, days: int) -> int:
    """Suspend branch environments without visitors. Returns how many."""
    busy = await jobs.list_busy_owners(tx)
    found = await store.list_idle(tx, tx.now - timedelta(days=days), busy, BATCH_SIZE)
    why = f"It had no visitors for {days} days."
    for env in found:
        await service.set_status(tx, env.id, "suspending", after=(env.status,))
        work = EnvironmentWork(env.id, env.status, env.status_reason, why)
        await service.enqueue_job(tx, kinds.SUSPEND, work, env.owner, env.site_id, by_platform=True)
    return len(found)


async def destroy_without_branch(tx: Tx) -> int:
    """Destroy environments whose branch was deleted longer ago than the grace period. Returns how many."""
    busy = await jobs.list_busy_owners(tx)
    found = await store.list_without_branch(tx, tx.now - BRANCH_GRACE, busy, BATCH_SIZE)
    for env in found:
        await service.set_status(tx, env.id, "deleting", after=(env.status,))
        work = EnvironmentWork(env.id, env.status, env.status_reason, "Its branch was deleted.")
        await service.enqueue_job(tx, kinds.DESTROY, work, env.owner, env.site_id, by_platform=True)
    return len(found)


async def list_branches(tx: Tx, site: str) -> set[str]:
    """The branches that have an environment."""
    return set(await store.list_branches(tx, site))


async def record_branch_deleted(tx: Tx, site: str, branch: str) -> None:
    """Schedule the destruction of the branch's environment after the grace period."""
    for env in await store.set_branch_deleted(tx, site, branch):
        await service.publish_event(
            tx, env, ENV_DESTROY_SCHEDULED, destroy_at=(tx.now + BRANCH_GRACE).isoformat()
        )


async def record_branch_exists(tx: Tx, site: str, branch: str) -> None:
    """Cancel a scheduled destruction of the branch's environment."""
    for env in await store.set_branch_exists(tx, site, branch):
        await service.publish_event(tx, env, ENV_DESTROY_CALLED_OFF)


async def record_visits(tx: Tx, activity: Activity) -> None:
    """Record when the environments of a node were last visited."""
    moments = [datetime.fromtimestamp(moment, UTC) for moment in activity.visited.values()]
    await store.record_visits(tx, activity.node, list(activity.visited), moments)


async def restore_files(tx: Tx, env: HostedEnvironment) -> bool:
    """Queue a job that puts the release of an environment, which is not production, on its new node.

    Returns False for one that is not in service: it gets its files when it is resumed or recovered.
    """
    if env.status not in ("running", "failed"):
        return False
    await service.set_status(tx, env.id, "failed", reason=env.status_reason or "Its node is lost.")
    await service.set_status(tx, env.id, "provisioning", after=("failed",))
    work = EnvironmentWork(env.id, "failed", env.status_reason, "Its node is lost.")
    await service.enqueue_job(tx, kinds.RESUME, work, env.owner, env.site_id, by_platform=True)
    return True


async def restore_if_moved(tx: Tx, job: Job[EnvironmentWork]) -> None:
    """For a job that failed or was cancelled, such as one that waited for a lost node. Its undo may have put
    the environment on its new node, or may have been refused there."""
    moved = await relocation_store.find_moved(tx, job.params.environment, job.params.node)
    if moved is not None:
        await restore_files(tx, moved)


async def update_reachability(tx: Tx) -> int:
    """Mark environments whose node is unreachable as failed, and as running once the node is back.

    Returns how many were changed; there may be more. Production is not changed here: the status of its site
    says the same.
    """
    since = tx.now - LOST_AFTER
    lost = await store.list_on_lost_nodes(tx, since, BATCH_SIZE)
    back = await store.list_on_recovered_nodes(tx, since, BATCH_SIZE)
    for env, reason in lost:
        await service.set_status(tx, env, "failed", after=("running",), reason=reason)
    for env in back:
        await service.set_status(tx, env, "running", after=("failed",))
    return len(lost) + len(back)
