"""Removes unused artifacts, and then the blobs that no artifact refers to."""

from stead.control.artifacts import store
from stead.control.artifacts.rules import REMOVAL_CLAIMED_FOR, blob_name
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database

BATCH_SIZE = 100


async def collect_garbage(database: Database, objects: ObjectStore) -> tuple[int, int]:
    """Returns how many artifacts and how many blobs were removed."""
    return await remove_artifacts(database), await _remove_blobs(database, objects)


async def remove_artifacts(database: Database) -> int:
    """Walk through all artifacts. A transaction looks at one batch, whether any of it is unused or not."""
    removed, after = 0, ""
    while True:
        async with database.transaction() as tx:
            artifacts = await store.list_ids(tx, after=after, limit=BATCH_SIZE)
            unused = await store.select_unused(tx, artifacts)
            removed += sum([await store.delete_if_unused(tx, artifact) for artifact in unused])
        if not artifacts:
            return removed
        after = artifacts[-1]


async def _remove_blobs(database: Database, objects: ObjectStore) -> int:
    """Claim blobs, remove their objects outside of any transaction, then delete their rows.

    A worker that stores one of these blobs waits until the claim ends. If this process dies, another one
    claims the blobs later and repeats the removal, which is harmless.
    """
    removed, after = 0, ""
    while True:
        async with database.transaction() as tx:
            until = tx.now + REMOVAL_CLAIMED_FOR
            blobs = await store.list_blobs(tx, after=after, limit=BATCH_SIZE)
            claimed = await store.claim_unreferenced_blobs(tx, blobs, until=until)
        if not blobs:
            return removed
        after = blobs[-1]
        if claimed:
            await objects.delete([blob_name(digest) for digest in claimed])
            async with database.transaction() as tx:
                removed += await store.delete_removed_blobs(tx, claimed, until=until)
