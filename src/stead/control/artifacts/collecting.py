"""Removing what nothing uses: artifacts first, then blobs that no artifact is made of."""

from stead.control.artifacts import store
from stead.control.artifacts.rules import blob_name
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database

AT_ONCE = 100


async def collect(database: Database, objects: ObjectStore) -> tuple[int, int]:
    """How many artifacts and how many blobs went."""
    return await _artifacts(database), await _blobs(database, objects)


async def _artifacts(database: Database) -> int:
    gone = 0
    while True:
        async with database.transaction() as tx:
            dropped = [await store.drop(tx, artifact) for artifact in await store.unused(tx, most=AT_ONCE)]
        gone += sum(dropped)
        if not any(dropped):
            return gone


async def _blobs(database: Database, objects: ObjectStore) -> int:
    gone = 0
    while True:
        async with database.reading() as tx:
            loose = await store.loose_blobs(tx, most=AT_ONCE)
        dropped = [await _blob(database, objects, digest) for digest in loose]
        gone += sum(dropped)
        if not any(dropped):
            return gone


async def _blob(database: Database, objects: ObjectStore, digest: str) -> bool:
    """Whoever stores the same blob meanwhile waits, and stores it anew. Should we die between the two, the
    row says that there is something to remove, and removing what is not there is fine."""
    async with database.transaction() as tx:
        await store.hold_blob(tx, digest)
        if not await store.drop_blob(tx, digest):
            return False
        await objects.delete([blob_name(digest)])
        return True
