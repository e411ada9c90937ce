"""The use cases of uploads."""

from stead.control.artifacts import service as artifacts
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.control.uploads import store
from stead.control.uploads.rules import (
    KEPT_FOR,
    MAX_OPEN,
    PREFIX,
    URL_VALID_FOR,
    UploadsExhausted,
    object_name,
)
from stead.control.uploads.schema import UploadView
from stead.shared.ids import UploadId, has_shape, new_id

BATCH_SIZE = 100


async def create(tx: Tx, site: VisibleSite, objects: ObjectStore, size: int) -> UploadView:
    if site.status in ("deleting", "deleted"):
        raise SiteBusy(status=site.status)
    owner = Owner(site.account_id, site.team_id)
    await plans.lock(tx, owner)
    if await store.count_open(tx, owner) >= MAX_OPEN:
        raise UploadsExhausted(limit=MAX_OPEN)
    await artifacts.ensure_storage(tx, owner, more=size)
    upload = UploadId(new_id("upl"))
    await store.insert(tx, upload, site.id, size=size, expires_at=tx.now + KEPT_FOR)
    signed = objects.presign_upload(
        object_name(upload), size=size, seconds=int(URL_VALID_FOR.total_seconds())
    )
    return UploadView(
        id=upload,
        url=signed.url,
        method="PUT",
        headers=signed.headers,
        expires_at=tx.now + URL_VALID_FOR,
        max_bytes=size,
    )


async def declared_size(tx: Tx, upload: str) -> int | None:
    """None if the upload does not exist any more."""
    return await store.declared_size(tx, upload)


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
    await _empty_expired(database, objects)
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


async def _empty_expired(database: Database, objects: ObjectStore) -> None:
    """Replace the archives of expired uploads by empty objects. That frees their storage, and their URLs
    still accept no second archive, because there is an object."""
    while True:
        async with database.reading() as tx:
            expired = await store.list_expired(tx, before=tx.now, limit=BATCH_SIZE, counted=True)
        if not expired:
            return
        for upload in expired:
            await objects.put(object_name(upload), b"")
        async with database.transaction() as tx:
            await store.set_emptied(tx, expired)


async def remove_unknown(database: Database, objects: ObjectStore) -> int:
    """Remove archives without an upload. Returns how many.

    Such an archive was sent so slowly that its upload had been removed before it was complete.
    """
    removed = 0
    async for names in objects.list_names(PREFIX):
        async with database.reading() as tx:
            known = await store.find_known(tx, [name.removeprefix(PREFIX) for name in names])
        unknown = [name for name in names if name.removeprefix(PREFIX) not in known]
        await objects.delete(unknown)
        removed += len(unknown)
    return removed
