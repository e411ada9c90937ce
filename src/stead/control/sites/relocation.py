"""Gives the environments of a node that is lost for good to other nodes.

Everything that an environment needs is in the database and the object store. So it gets another node, and a
job puts its release there and tells the edges. Jobs that still wait for the lost node are cancelled.
"""

from stead.control.engines.postgres import Tx
from stead.control.environments import maintenance, relocation_store
from stead.control.environments import service as environments
from stead.control.environments.relocation_store import HostedEnvironment
from stead.control.environments.rules import Environment
from stead.control.jobs import service as jobs
from stead.control.jobs.kinds import Job
from stead.control.nodes import service as nodes
from stead.control.nodes.rules import SILENT_REGION_TIMEOUT
from stead.control.sites import jobs as kinds
from stead.control.sites import service as sites
from stead.control.sites.jobs import SiteWork
from stead.control.sites.node_commands import WITH_PROCESSES
from stead.control.wordpress import service as wordpress

_RESTARTABLE = ("running", "stopped", "failed", "awaiting_push")


async def list_hosted(tx: Tx, node: str, *, after: str, limit: int) -> list[str]:
    """One page of the environments of a node, in order of id."""
    return await relocation_store.list_hosted(tx, node, after=after, limit=limit)


async def lock_hosted(tx: Tx, env: str, node: str) -> HostedEnvironment | None:
    """The environment as it stays until the transaction ends; None if it is no longer on the node.

    Jobs that wait for the node end meanwhile and change its status, so that what was listed may be wrong.
    """
    return await relocation_store.lock_hosted(tx, env, node)


async def move(tx: Tx, env: HostedEnvironment, lost: str) -> bool:
    """Move a locked environment from a lost node to another one of its region.

    Returns whether a job restores it there; otherwise only its edge records have to be announced. Raises
    Refused if no node has room.
    """
    # It does not wait for the first heartbeats of other nodes: the operator can repeat the command.
    facts = await sites.get_facts(tx, env.site_id)
    promised = 0 if facts.is_test else await wordpress.get_promised_mb(tx, env.site_id)
    since = tx.now - SILENT_REGION_TIMEOUT
    node = await nodes.choose_node(
        tx, env.region, facts.needed_runtime, waiting_since=since, disk_mb=promised
    )
    await environments.set_node(tx, env.id, node)
    if facts.runtime in WITH_PROCESSES and not facts.is_test:
        await relocation_store.mark_data_lost(tx, env.id)
    await jobs.cancel_waiting_for_node(tx, env.site_id, lost)
    if env.type != "production":
        return await maintenance.restore_files(tx, env)
    if env.site_status not in _RESTARTABLE:
        return False
    await _queue_restart(tx, env)
    return True


async def was_moved(tx: Tx, job: Job[SiteWork], production: Environment) -> bool:
    """Whether production got another node after its deletion was requested. Nothing of it may be there."""
    return await relocation_store.find_moved(tx, production.id, job.params.node) is not None


async def restore_if_moved(tx: Tx, job: Job[SiteWork]) -> None:
    """For a deletion that failed or was cancelled, such as one that waited for a lost node. Its undo may have
    put the site on its new node, or may have been refused there."""
    production = await environments.get_production(tx, job.site_id)
    moved = await relocation_store.find_moved(tx, production.id, job.params.node)
    if moved is not None and moved.site_status in _RESTARTABLE:
        await _queue_restart(tx, moved)


async def _queue_restart(tx: Tx, env: HostedEnvironment) -> None:
    subject = jobs.Subject(env.site_id, env.owner)
    await jobs.enqueue(tx, kinds.RESTART, SiteWork(), subject, scope="sites:write", by_platform=True)
