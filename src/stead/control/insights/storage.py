"""How much sites store, now and in the last 30 days."""

from datetime import timedelta

from stead.control.engines.postgres import Database
from stead.control.http.operations import Call
from stead.control.insights import storage_store, store
from stead.control.insights.schema.storage import SiteStorageView, StorageDay, StorageFilter, StorageView

DAYS = 30
BATCH = 500


async def get_storage(call: Call, wanted: StorageFilter) -> StorageView:
    visible = await store.list_visible_sites(call.tx, call.caller)
    sites = list(dict.fromkeys(site for site, _ in visible.environments))
    now = await storage_store.list_now(call.tx, sites)
    series: dict[str, list[StorageDay]] = {site: [] for site in sites}
    if not wanted.latest:
        since = (call.tx.now - timedelta(days=DAYS - 1)).date()
        for found in await storage_store.list_days(call.tx, sites, since):
            series[found.site_id].append(StorageDay(found.day, found.bytes))
    return StorageView(
        days=0 if wanted.latest else DAYS,
        sites=[SiteStorageView(site, now.get(site, 0), series[site]) for site in sites],
        truncated=visible.truncated,
        as_of=call.tx.now,
    )


async def record_today(database: Database) -> None:
    """Repeated during the day, so the last record of a day is from its end."""
    after: str | None = ""
    while after is not None:
        async with database.transaction() as tx:
            after = await storage_store.record_day(tx, after, BATCH)
    removed = BATCH
    while removed:
        async with database.transaction() as tx:
            removed = await storage_store.delete_old(tx, BATCH)
