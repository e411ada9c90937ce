"""What callers and builds do with uploads."""

from stead.control.artifacts import service as artifacts
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.plans.rules import Owner
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.control.uploads import store
from stead.control.uploads.rules import ADDRESS_LASTS, KEPT_FOR, MOST_BYTES, object_name
from stead.control.uploads.schema import UploadView
from stead.shared.ids import UploadId, has_shape, new_id

AT_ONCE = 100


async def create(tx: Tx, site: VisibleSite, objects: ObjectStore) -> UploadView:
    if site.status in ("deleting", "deleted"):
        raise SiteBusy(status=site.status)
    await artifacts.make_room(tx, Owner(site.account_id, site.team_id))
    upload = UploadId(new_id("upl"))
    await store.insert(tx, upload, site.id, expires_at=tx.now + KEPT_FOR)
    seconds = int(ADDRESS_LASTS.total_seconds())
    return UploadView(
        id=upload,
        url=objects.presigned_put_url(object_name(upload), seconds=seconds, public=True),
        method="PUT",
        headers={},
        expires_at=tx.now + ADDRESS_LASTS,
        max_bytes=MOST_BYTES,
    )


async def is_of(tx: Tx, upload: str, site: str) -> bool:
    """Whether there is such an upload of this site that has not expired."""
    return has_shape("upl", upload) and await store.is_of(tx, upload, site)


async def used(tx: Tx, upload: str) -> None:
    """It is not wanted any more."""
    await store.expire(tx, upload)


async def remove_expired(database: Database, objects: ObjectStore) -> int:
    """From the object store first: a row that is left says what is left there. How many there were."""
    removed = 0
    while True:
        async with database.reading() as tx:
            # An address that was given out may still be used: what comes by it is found as well.
            gone = await store.expired(tx, before=tx.now - ADDRESS_LASTS, most=AT_ONCE)
        if not gone:
            return removed
        await objects.delete([object_name(upload) for upload in gone])
        async with database.transaction() as tx:
            await store.delete(tx, gone)
        removed += len(gone)
