"""Backups that are cancelled or fail leave data in the repository, which counts toward the plan."""

import pytest

from stead.control.backups.jobs import BackupWork
from stead.control.backups.snapshot_steps import build_snapshot_steps
from stead.control.jobs.definition import Refused
from stead.control.jobs.kinds import Job
from stead.control.plans import store as plans
from stead.control.plans.rules import GB, Owner
from stead.shared.ids import new_id
from tests.people import Person
from tests.repositories.maintained_site import MEGABYTE, MaintainedSite
from tests.teams import insert_site


async def fill_plan(person: Person, *, free: int) -> None:
    """Something else takes all of the plan but so many bytes."""
    async with person.transaction() as tx:
        limit = await plans.storage_limit(tx, Owner(account_id=person.account.id))
        other = await insert_site(tx, account=person.id)
        await tx.run(
            "insert into repositories (site_id, password, created_at, stored_bytes) values ($1, '', $2, $3)",
            *(other, tx.now, limit * GB - free),
        )


async def begin_backup(site: MaintainedSite) -> None:
    begin = build_snapshot_steps("on_demand")[0].long_action
    assert begin is not None
    job = Job(new_id("job"), site.id, site.env, BackupWork(site.env), site.worker.plane.database.now())
    await begin(site.worker.context, job)


async def test_uploads_that_did_not_end_fill_the_plan(site: MaintainedSite, person: Person):
    await fill_plan(person, free=3 * MEGABYTE)
    for _ in range(2):
        await begin_backup(site)
        cancelled = await site.take_snapshot(kept=False)
        await site.sql("update snapshots set restic_id = null where id = $1", cancelled.id)
    # Each has left about two megabytes, of which they share one.
    with pytest.raises(Refused) as refused:
        await begin_backup(site)
    assert refused.value.code == "quota.storage"
    # Maintenance removes what they have left.
    assert await site.maintain()
    await begin_backup(site)
