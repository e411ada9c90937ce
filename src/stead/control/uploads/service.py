"""The use cases of uploads."""

from stead.control.artifacts import service as artifacts
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.plans.rules import Owner
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.control.uploads import store
from stead.control.uploads.rules import KEPT_FOR, MAX_BYTES, URL_VALID_FOR, object_name
from stead.control.uploads.schema import UploadView
from stead.shared.ids import UploadId, has_shape, new_id

BATCH_SIZE = 100


async def create(tx: Tx, site: VisibleSite, objects: ObjectStore) -> UploadView:
    if site.status in ("deleting", "deleted"):
        raise SiteBusy(status=site.status)
    await artifacts.ensure_storage(tx, Owner(site.account_id, site.team_id))
    upload = UploadId(new_id("upl"))
    await store.insert(tx, upload, site.id, expires_at=tx.now + KEPT_FOR)
    seconds = int(URL_VALID_FOR.total_seconds())
    return UploadView(
        id=upload,
        url=objects.presigned_put_url(object_name(upload), seconds=seconds, public=True),
        method="PUT",
        headers={},
        expires_at=tx.now + URL_VALID_FOR,
        max_bytes=MAX_BYTES,
    )


async def belongs_to_site(tx: Tx, upload: str, site: str) -> bool:
    """Whether the site has this upload, and it has not expired."""
    return has_shape("upl", upload) and await store.belongs_to_site(tx, upload, site)


async def mark_used(tx: Tx, upload: str) -> None:
    """A build has succeeded, so the archive is not needed any more."""
    await store.expire(tx, upload)


async def remove_expired(database: Database, objects: ObjectStore) -> int:
    """Remove expired uploads. Returns how many.

    The objects are removed before the rows, so a run that was interrupted is continued by the next one.
    """
    removed = 0
    while True:
        async with database.reading() as tx:
            # An archive may still arrive while the URL is valid, so the upload is removed only after that.
            expired = await store.list_expired(tx, before=tx.now - URL_VALID_FOR, limit=BATCH_SIZE)
        if not expired:
            return removed
        await objects.delete([object_name(upload) for upload in expired])
        async with database.transaction() as tx:
            await store.delete(tx, expired)
        removed += len(expired)
