"""Exports are removed whenever they were uploaded, and a site has few of them."""

import tempfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from stead.control.app import ControlPlane
from stead.control.database import service
from stead.control.database.rules import DOWNLOAD_FOR, LATE, MAX_LIVE, WAIT_FOR, object_name
from stead.control.database.workflows import EXPORT
from stead.control.engines.object_store import ObjectStore, StoreLocation
from stead.control.jobs import queue
from stead.control.jobs.definition import Refused
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.running_stack import run_stack
from stead.shared.clock import MovableClock
from tests.answering_node import answering_site
from tests.client import code_of
from tests.people import Person


@pytest.fixture(scope="module")
async def objects() -> AsyncIterator[ObjectStore]:
    with tempfile.TemporaryDirectory(prefix="stead-exports-") as data:
        async with run_stack(Path(data), [SeaweedFS]) as stack:
            set_ = stack.environment()
            location = StoreLocation(
                *(set_["STEAD_S3_ENDPOINT"], set_["STEAD_S3_ACCESS_KEY"], set_["STEAD_S3_SECRET_KEY"]),
                "stead",
            )
            store = location.objects()
            await store.ensure_bucket()
            yield store


async def _begin(plane: ControlPlane, job: str) -> None:
    async with plane.database.transaction() as tx:
        row = await queue.get(tx, job)
        assert row is not None
        action = EXPORT.steps["begin"].control
        assert action is not None
        await action(tx, EXPORT.read(row))


async def _request(person: Person, site: str) -> tuple[str, str]:
    """Returns the job and the export."""
    answer = await person.session.post(f"/v1/sites/{site}/database/export")
    assert answer.status_code == 202, answer.text
    job = answer.json()["data"]["id"]
    async with person.transaction() as tx:
        export = await tx.value("select params -> 'with' ->> 'export' from jobs where id = $1", job)
    return job, str(export)


async def _names(objects: ObjectStore) -> set[str]:
    return {name async for names in objects.list_names("exports/") for name in names}


async def test_an_export_that_begins_late_expires_later(
    person: Person, plane: ControlPlane, clock: MovableClock, objects: ObjectStore
):
    site = await answering_site(person, {})
    job, export = await _request(person, site)
    clock.ahead += timedelta(hours=20)
    assert await service.remove_expired(plane.database, objects) == 0
    await _begin(plane, job)
    await objects.put(object_name(export), b"a dump")
    clock.ahead += DOWNLOAD_FOR + LATE - timedelta(minutes=1)
    assert await service.remove_expired(plane.database, objects) == 0
    assert await _names(objects) == {object_name(export)}
    clock.ahead += timedelta(minutes=2)
    assert await service.remove_expired(plane.database, objects) == 1
    assert await _names(objects) == set()


async def test_an_export_that_has_waited_too_long_does_not_begin(
    person: Person, plane: ControlPlane, clock: MovableClock
):
    site = await answering_site(person, {})
    job, _ = await _request(person, site)
    clock.ahead += WAIT_FOR + timedelta(minutes=1)
    with pytest.raises(Refused, match="waited for too long"):
        await _begin(plane, job)


async def test_an_object_without_an_export_is_removed(
    person: Person, plane: ControlPlane, objects: ObjectStore
):
    site = await answering_site(person, {})
    _, export = await _request(person, site)
    for name in (export, "exp_of_nobody"):
        await objects.put(object_name(name), b"a dump")
    assert await service.remove_unknown(plane.database, objects) == 1
    assert await _names(objects) == {object_name(export)}
    await objects.delete([object_name(export)])


async def test_a_site_has_few_exports_at_a_time(person: Person, plane: ControlPlane):
    site = await answering_site(person, {})
    path = f"/v1/sites/{site}/database/export"
    jobs = [(await _request(person, site))[0] for _ in range(MAX_LIVE)]
    assert code_of(await person.session.post(path)) == "quota.exports"
    async with plane.database.transaction() as tx:
        row = await queue.get(tx, jobs[0])
        assert row is not None
        await EXPORT.failed(tx, EXPORT.read(row), "it was cancelled")
    assert (await person.session.post(path)).status_code == 202
