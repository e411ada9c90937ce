"""Queues the backups of the night, reports sites without one, and decides what is kept."""

from stead.control.backups import schedule_store as store
from stead.control.backups.events import BACKUPS_FAILING
from stead.control.backups.jobs import CREATE, BackupWork
from stead.control.backups.retention import decide
from stead.control.backups.schedule import OVERDUE_AFTER, due_after_failure, next_due
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment
from stead.control.jobs import service as jobs
from stead.control.outbox.events import About, publish

BATCH_SIZE = 100
PER_NODE = 2
"""How many snapshots a node makes at the same time: visitors come first."""


async def add_sites(tx: Tx) -> int:
    """Give new sites their place in the night."""
    found = await store.list_unscheduled(tx, limit=BATCH_SIZE)
    for site in found:
        await store.insert(tx, site, due_at=next_due(site, tx.now))
    return len(found)


async def queue_due(tx: Tx) -> int:
    """Queue a backup for each environment of the next site whose turn it is. Returns for how many sites: 1 or
    0. A site that is not in service has its next turn the night after."""
    due = await store.lock_due(tx, per_node=PER_NODE, busy_owners=await jobs.list_busy_owners(tx), limit=1)
    for site in due:
        await store.set_due(tx, site.site_id, next_due(site.site_id, tx.now))
        if site.env_id is None:
            continue
        for env in (site.env_id, *await store.list_copies(tx, site.site_id)):
            subject = jobs.Subject(site.site_id, site.owner, env_id=env, id=site.site_id)
            work = BackupWork(env, "scheduled")
            await jobs.enqueue(tx, CREATE, work, subject, scope="backups:write", by_platform=True)
    return len(due)


async def report_overdue(tx: Tx) -> int:
    """Tell the owners of sites that have no new snapshot on the second day."""
    found = await store.lock_overdue(tx, tx.now - OVERDUE_AFTER, limit=BATCH_SIZE)
    for site in found:
        about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.site_id)
        await publish(
            tx,
            BACKUPS_FAILING,
            about,
            domain=site.domain,
            since=site.since.isoformat(),
            reason=site.reason,
        )
        await store.mark_mailed(tx, site.site_id)
    return len(found)


async def expire_environment(tx: Tx, site: str, env: str) -> None:
    """The snapshots of an environment that was destroyed: they cannot be restored any more."""
    await store.expire_environment(tx, site, env)


async def expire_unrecoverable(tx: Tx) -> int:
    return await store.expire_unrecoverable(tx, limit=BATCH_SIZE)


async def record_success(tx: Tx, site: str, env: Environment) -> None:
    """The status of the backups of a site is that of its production."""
    if env.type == "production":
        await store.record_success(tx, site, due_at=next_due(site, tx.now))
    await apply_retention(tx, site, env.id)


async def record_failure(tx: Tx, site: str, env: Environment, reason: str) -> None:
    """Of another environment, its event says it; the next attempt is in the next night."""
    if env.type == "production":
        await store.record_failure(tx, site, reason, due_at=due_after_failure(site, tx.now))


async def apply_retention(tx: Tx, site: str, env: str) -> None:
    """Called when there is a new snapshot. So nothing expires of a site whose backups fail."""
    snapshots = await store.list_kept(tx, site, env)
    kept = decide(snapshots, await store.get_retention(tx, site), tx.now)
    for id_, reason in kept.items():
        await store.set_retention_reason(tx, id_, reason)
    await store.expire(tx, [each.id for each in snapshots if each.id not in kept])
