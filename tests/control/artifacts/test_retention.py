"""Which artifacts are kept: all that are referenced, and others for a while."""

from datetime import timedelta
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.artifacts import store
from stead.control.engines.postgres import Tx
from stead.control.plans import store as plan_store
from stead.control.plans.rules import Owner
from tests import teams
from tests.people import Person

OLD = timedelta(days=31)


async def _insert_old(tx: Tx, site: str, count: int = 1) -> list[str]:
    return [await teams.insert_artifact(tx, site, built_at=tx.now - OLD) for _ in range(count)]


async def _removable(tx: Tx, *artifacts: str) -> set[str]:
    return set(await store.select_unused(tx, artifacts))


async def test_old_artifacts_are_removed_except_the_ten_newest(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        made = await _insert_old(tx, site, 12)
        assert await _removable(tx, *made) == set(made[:2])
        assert await store.delete_if_unused(tx, made[0])
        assert not await store.delete_if_unused(tx, made[5])
        assert not await store.delete_if_unused(tx, made[0])


async def test_new_artifacts_are_kept_unless_storage_is_needed(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        made = [await teams.insert_artifact(tx, site) for _ in range(12)]
        assert await _removable(tx, *made) == set()
        assert await store.list_unused(tx, person.id, limit=10) == made[:2]
        assert await store.list_unused(tx, "client_another", limit=10) == []


@pytest.mark.parametrize("status", ["live", "pending", "deploying", "superseded", "failed"])
async def test_artifacts_of_recent_deployments_are_kept(plane: ControlPlane, person: Person, status: str):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        env = await teams.environment_of(tx, site)
        made = await _insert_old(tx, site, 12)
        await teams.insert_deployment(tx, site, env, made[0], status=status)
        assert await _removable(tx, *made) == {made[1]}
        assert not await store.delete_if_unused(tx, made[0])
        for _ in range(10):
            await teams.insert_deployment(tx, site, env, made[-1], status="superseded")
        referenced = status in ("live", "pending", "deploying")
        assert await _removable(tx, *made) == ({made[1]} if referenced else {made[0], made[1]})


async def test_all_artifacts_of_an_unrecoverable_site_are_removed(plane: ControlPlane, person: Person):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, status="deleted")
        made = [await teams.insert_artifact(tx, site) for _ in range(2)]
        await teams.insert_deployment(tx, site, await teams.environment_of(tx, site), made[0])
        assert await _removable(tx, *made) == set()
        await tx.run("update sites set recoverable_until = $2 where id = $1", site, tx.now)
        assert await _removable(tx, *made) == set(made)
        assert all([await store.delete_if_unused(tx, each) for each in made])


async def test_an_artifact_that_is_about_to_be_deployed_is_kept(plane: ControlPlane, person: Person):
    """The deployment locks the artifact; the removal waits for it and checks again."""
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        env = await teams.environment_of(tx, site)
        oldest, *_ = await _insert_old(tx, site, 11)
    async with plane.database.transaction() as deploying:
        assert await store.find(deploying, site, oldest)
        async with plane.database.transaction() as removing:
            assert await store.select_unused(removing, [oldest]) == [oldest]
            await removing.run("set local lock_timeout = '200ms'")
            with pytest.raises(Exception, match="lock timeout"):
                await store.delete_if_unused(removing, oldest)
        await teams.insert_deployment(deploying, site, env, oldest, status="pending")
    async with plane.database.transaction() as tx:
        assert not await store.delete_if_unused(tx, oldest)


async def test_a_layer_shared_by_two_artifacts_counts_once(plane: ControlPlane, person: Person):
    async def used() -> Any:
        view = await plan_store.plan(tx, Owner(account_id=person.id))
        assert view is not None
        return view.usage.storage_gb

    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        assert await used() == 0
        await teams.insert_artifact(tx, site, content=person.id.encode(), size=3_000_000)
        alone = await used()
        await teams.insert_artifact(tx, site, content=person.id.encode(), size=3_000_000)
        assert alone <= await used() < alone + 0.001
        await teams.insert_artifact(tx, site, size=2_000_000)
        assert await used() == pytest.approx(0.005, abs=0.0001)
