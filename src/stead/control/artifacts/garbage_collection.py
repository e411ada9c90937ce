"""Removes unused artifacts, and then the blobs that no artifact refers to."""

from stead.control.artifacts import store
from stead.control.artifacts.rules import blob_name
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database

BATCH_SIZE = 100


async def collect_garbage(database: Database, objects: ObjectStore) -> tuple[int, int]:
    """Returns how many artifacts and how many blobs were removed."""
    return await _remove_artifacts(database), await _remove_blobs(database, objects)


async def _remove_artifacts(database: Database) -> int:
    removed = 0
    while True:
        async with database.transaction() as tx:
            unused = await store.list_unused(tx, limit=BATCH_SIZE)
            deleted = [await store.delete_if_unused(tx, artifact) for artifact in unused]
        removed += sum(deleted)
        if not any(deleted):
            return removed


async def _remove_blobs(database: Database, objects: ObjectStore) -> int:
    removed = 0
    while True:
        async with database.reading() as tx:
            unreferenced = await store.list_unreferenced_blobs(tx, limit=BATCH_SIZE)
        deleted = [await _remove_blob(database, objects, digest) for digest in unreferenced]
        removed += sum(deleted)
        if not any(deleted):
            return removed


async def _remove_blob(database: Database, objects: ObjectStore, digest: str) -> bool:
    """The lock makes a worker that stores the same blob wait, and then store it again.

    If this process dies after the deletion of the object, the row is still there: the next run repeats the
    deletion, which is harmless.
    """
    async with database.transaction() as tx:
        await store.lock_blob(tx, digest)
        if not await store.delete_unreferenced_blob(tx, digest):
            return False
        await objects.delete([blob_name(digest)])
        return True
