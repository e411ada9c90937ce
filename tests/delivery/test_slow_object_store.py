"""With a slow object store, layers are still signed, and nothing in use is removed."""

import asyncio

import pytest

from stead.artifacts import digests
from stead.control.artifacts import garbage_collection
from stead.control.artifacts.rules import blob_name
from stead.control.engines import postgres_pool
from stead.control.engines.object_store import ObjectInfo, ObjectStore
from stead.control.jobs.definition import NotYet
from tests.delivery.delivery import Delivery
from tests.patience import time_limit

HOLD_SECONDS = 0.5


class SlowStore(ObjectStore):
    """Takes longer for every change than a connection to the database may be held."""

    deleting: asyncio.Event
    may_delete: asyncio.Event

    async def copy(self, inspected: ObjectInfo, key: str, to: str) -> None:
        await asyncio.sleep(HOLD_SECONDS * 4)
        await super().copy(inspected, key, to)

    async def delete(self, keys: list[str]) -> None:  # type: ignore[override]
        self.deleting.set()
        await self.may_delete.wait()
        await super().delete(keys)


@pytest.fixture
def slow(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> SlowStore:
    """Connections are closed early, so that the store need not be slow for longer than eight seconds."""
    monkeypatch.setattr(postgres_pool, "MAX_HOLD_SECONDS", HOLD_SECONDS)
    monkeypatch.setattr(postgres_pool, "CHECK_SECONDS", HOLD_SECONDS / 5)
    plain = delivery.objects
    store = SlowStore(plain._endpoint, plain._access_key, plain._secret_key, plain._bucket)
    store.deleting, store.may_delete = asyncio.Event(), asyncio.Event()
    return store


async def test_a_layer_is_signed_however_long_it_takes_to_copy(delivery: Delivery, slow: SlowStore) -> None:
    site = await delivery.site("live")
    build, packed = await delivery.staged(site, {"index.html": "a large layer"})
    artifact = await delivery.signed(build, objects=slow)
    assert await delivery.layer(artifact) == packed.digest
    assert await delivery.objects.size(blob_name(packed.digest)) == packed.size


async def test_a_blob_that_is_being_removed_is_stored_again_only_afterwards(
    delivery: Delivery, slow: SlowStore
) -> None:
    site = await delivery.site("live")
    files = {"index.html": "removed and wanted again"}
    build, packed = await delivery.staged(site, files)
    await delivery.signed(build)
    await delivery.harness.sql("delete from artifacts where site_id = $1", site.id)
    await delivery.harness.sql("update blobs set held_until = now() - interval '1 second'")
    removal = asyncio.create_task(garbage_collection.collect_garbage(delivery.harness.database, slow))
    async with time_limit(20):
        await slow.deleting.wait()
    again, _ = await delivery.staged(site, files)
    with pytest.raises(NotYet):
        await delivery.signed(again)
    slow.may_delete.set()
    async with time_limit(20):
        assert (await removal)[1] >= 1
    await delivery.signed(again)
    assert await delivery.objects.size(blob_name(digests.parse(packed.digest))) == packed.size
