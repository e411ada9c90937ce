"""Closes a repository while data is removed from it, so that nothing is added that restic would believe.

A node may keep the token of a job that has ended. With an index that names rubbish in place of good data, and
that arrives after all data was read, it could make restic remove the good data.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from stead.control.backups import maintenance_store as store
from stead.control.engines.object_store import ObjectStore, ObjectStoreUnavailable
from stead.control.engines.postgres import DATABASE_FAILED, Database
from stead.shared.repository_layout import closed_key, kind_prefix


@asynccontextmanager
async def closed(database: Database, objects: ObjectStore, site: str) -> AsyncIterator[None]:
    """If the worker is killed meanwhile, the next job of the site opens the repository."""
    async with database.transaction() as tx:
        await store.set_closed(tx, site, is_closed=True)
    await objects.put(closed_key(site), b"")
    try:
        yield
    finally:
        with suppress(ObjectStoreUnavailable, *DATABASE_FAILED):
            await reopen(database, objects, site)


async def reopen(database: Database, objects: ObjectStore, site: str) -> None:
    await objects.delete([closed_key(site)])
    async with database.transaction() as tx:
        await store.set_closed(tx, site, is_closed=False)


async def list_indexes(objects: ObjectStore, site: str) -> set[str]:
    return {name async for names in objects.list_names(kind_prefix(site, "index")) for name in names}
