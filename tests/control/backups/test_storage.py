"""How much snapshots may add to what an owner stores."""

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.backups import repositories, storage
from stead.control.backups.rules import SnapshotKind
from stead.control.engines.postgres import Tx
from stead.control.plans.rules import GB, Owner, StorageExhausted
from tests.client import code_of
from tests.conftest import NewPerson
from tests.control.backups.snapshot_jobs import TAKEN, begin_job, queue_job, report_result
from tests.people import Person
from tests.teams import found_team, insert_site

_ALWAYS_TAKEN: tuple[SnapshotKind, ...] = ("scheduled", "site_deleted")


async def _fill_plan(tx: Tx, site: str, plans: int) -> None:
    """The snapshots of the site take the storage of so many free plans."""
    limit = await tx.value("select max_storage_gb from plans where name = 'free'")
    await tx.run(
        "insert into repositories (site_id, password, created_at, stored_bytes) values ($1, '', $2, $3)"
        " on conflict (site_id) do update set stored_bytes = $3",
        *(site, tx.now, plans * limit * GB),
    )


async def test_snapshots_count_toward_the_storage_of_the_plan(new_person: NewPerson) -> None:
    person, neighbour = await new_person(plan="free"), await new_person(plan="free")
    team = await found_team(person)
    async with person.transaction() as tx:
        site, other = await insert_site(tx, team=team), await insert_site(tx, account=neighbour.id)
        await _fill_plan(tx, site, 1)
    usage = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]["usage"]
    assert usage["storage_gb"] == 1
    for path, body in (("backup", {}), ("uploads", {"size_bytes": 1})):
        refused = await person.session.post(f"/v1/sites/{site}/{path}", json=body)
        assert (refused.status_code, code_of(refused)) == (429, "quota.storage")
    accepted = await neighbour.session.post(f"/v1/sites/{other}/backup")
    assert accepted.status_code == 202, accepted.text


async def test_a_full_plan_prevents_no_snapshot_that_protects_a_site(new_person: NewPerson) -> None:
    """Those before changes are bounded nevertheless: each could add as much as the site has."""
    person = await new_person(plan="free")
    owner = Owner(account_id=person.account.id)
    changes: tuple[SnapshotKind, ...] = (
        *("before_push", "before_restore", "before_switch", "before_update"),
        "before_quarantine",
    )
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        await _fill_plan(tx, site, 1)
        for kind in (*changes, *_ALWAYS_TAKEN):
            await storage.require_room(tx, owner, kind)
        await _fill_plan(tx, site, 2)
        for kind in _ALWAYS_TAKEN:
            await storage.require_room(tx, owner, kind)
        for kind in changes:
            with pytest.raises(StorageExhausted):
                await storage.require_room(tx, owner, kind)


async def test_a_node_cannot_claim_to_have_added_more_than_it_may(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await queue_job(person.session, f"/v1/sites/{site}/backup")
    driver, read = await begin_job(plane, job)
    async with person.transaction() as tx:
        await _fill_plan(tx, site, 0)
        allowed = await repositories.get_allowance(tx, site)
    await report_result(driver, read, "copy", msgspec.structs.replace(TAKEN, added_bytes=10**15))
    async with person.transaction() as tx:
        stored = await tx.value("select stored_bytes from repositories where site_id = $1", site)
    assert stored == allowed
