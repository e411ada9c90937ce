"""What operators see of backups on a terminal."""

from stead.control.backups import schedule_store as store
from stead.control.backups.schedule import OVERDUE_AFTER
from stead.control.engines.postgres import Database, Tx
from stead.control.settings import from_environment
from stead.shared.clock import wall_clock

SHOWN = 100


async def describe_backups() -> tuple[str, bool]:
    """The state of all backups, and whether a site has no recent one."""
    database = Database(from_environment().database_url, clock=wall_clock)
    try:
        async with database.reading() as tx:
            return await describe(tx)
    finally:
        await database.close()


async def describe(tx: Tx) -> tuple[str, bool]:
    late_before = tx.now - OVERDUE_AFTER
    counts = await store.count(tx, late_before)
    lines = [
        f"{counts.sites} sites: the last backup of {counts.succeeded} succeeded, of {counts.failed} failed;"
        f" {counts.never} had none yet; {counts.overdue} are overdue"
    ]
    troubled = await store.list_troubled(tx, late_before, limit=SHOWN)
    if troubled:
        lines.append(f"{'site':31} {'domain':40} {'without since':16} reason")
    for site in troubled:
        since = f"{site.since:%Y-%m-%d %H:%M}"
        lines.append(f"{site.site_id:31} {site.domain:40} {since} {site.reason or 'none was attempted'}")
    return "\n".join(lines), counts.overdue > 0
