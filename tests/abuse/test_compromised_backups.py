"""A node with everything that it holds, against the backups of its own and of other sites."""

import asyncio
import hashlib
import os
import time
from pathlib import Path

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.engines.restic import RepositoryDamaged, ResticRepository
from stead.protocol.commands import Result, encode, read_result
from stead.protocol.work.snapshots import SnapshotTaken
from stead.shared.ids import new_id
from tests.conftest import FIGURE
from tests.people import Person
from tests.repositories.conftest import gateway, second_store, store, worker
from tests.repositories.crafted_index import craft_index
from tests.repositories.maintained_site import MaintainedSite, Worker
from tests.repositories.site_backups import run_restic

__all__ = ["gateway", "second_store", "store", "worker"]

BUDGET = 20_000_000


@pytest.fixture
async def victim(plane: ControlPlane, worker: Worker, person: Person, tmp_path: Path) -> MaintainedSite:
    """A site whose node is taken over after its snapshot of yesterday."""
    site = await worker.new_site(person, tmp_path / "victim")
    await site.take_snapshot()
    await asyncio.sleep(1.1)
    return site


def named(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_it_cannot_delete_overwrite_or_prune(victim: MaintainedSite, tmp_path: Path):
    (yesterday,) = victim.taken
    url = victim.site.gateway.token(victim.id, added=BUDGET)
    attempts = [
        ("forget", yesterday.restic_id),
        ("forget", "--keep-last", "1", "--prune"),
        ("prune",),
        ("unlock", "--remove-all"),
        ("key", "passwd"),
        ("rebuild-index",),
        ("tag", "--set", "mine", yesterday.restic_id),
    ]
    await asyncio.gather(*(run_restic(url, victim.site.password, *words, seconds=15) for words in attempts))
    async with httpx.AsyncClient(timeout=60.0) as client:
        for kind in ("data", "index", "snapshots", "keys"):
            for each in (await client.get(f"{url}{kind}/")).json():
                assert (await client.delete(f"{url}{kind}/{each['name']}")).status_code == 403
                replaced = await client.post(f"{url}{kind}/{each['name']}", content=b"rubbish")
                assert replaced.status_code in (400, 403)
    await victim.require_restorable(yesterday, tmp_path / "restored")


async def test_it_cannot_read_other_sites(
    victim: MaintainedSite, worker: Worker, person: Person, tmp_path: Path
):
    other = await worker.new_site(person, tmp_path / "other")
    await other.take_snapshot()
    for site in (other.id, new_id("site")):
        content, _, signature = victim.site.gateway.token(victim.id).split("/r/")[1].partition(".")
        forged = victim.site.gateway.token(site).split("/r/")[1].partition(".")[0]
        url = f"{victim.site.gateway.url}/r/{forged}.{signature}"
        async with httpx.AsyncClient(timeout=60.0) as client:
            assert (await client.get(f"{url}config")).status_code == 401
            assert (await client.get(f"{url}data/")).status_code == 401
        assert content != forged
    # With the right token, but the password of its own site.
    completed = await run_restic(
        other.site.gateway.token(other.id, "read"), victim.site.password, "snapshots"
    )
    assert "wrong password" in completed.errors


async def test_it_cannot_fill_the_store(victim: MaintainedSite, record_property):
    url = victim.site.gateway.token(victim.id, added=BUDGET)
    refused = 0

    async def upload(client: httpx.AsyncClient) -> None:
        nonlocal refused
        while refused < 10:
            content = os.urandom(1_000_000)
            response = await client.post(f"{url}data/{named(content)}", content=content)
            assert response.status_code in (200, 507)
            refused += response.status_code == 507

    async with httpx.AsyncClient(timeout=60) as client:
        before = sum(each["size"] for each in (await client.get(f"{url}data/")).json())
        await asyncio.gather(*(upload(client) for _ in range(4)))
        after = sum(each["size"] for each in (await client.get(f"{url}data/")).json())
    record_property(
        FIGURE, f"a hostile node added {after - before} bytes of the {BUDGET} that its job may add"
    )
    assert after - before <= BUDGET


async def test_rubbish_does_not_prevent_a_restore_of_yesterday(victim: MaintainedSite, tmp_path: Path):
    (yesterday,) = victim.taken
    before = int(time.time()) - 1
    url = victim.site.gateway.token(victim.id, added=BUDGET)
    async with httpx.AsyncClient(timeout=60.0) as client:
        for kind in ("index", "snapshots", "data"):
            content = os.urandom(5000)
            assert (await client.post(f"{url}{kind}/{named(content)}", content=content)).status_code == 200
    await victim.site.restore(tmp_path / "restored", yesterday.restic_id, as_of=before)
    # Maintenance removes nothing, and says so.
    assert not await victim.maintain()
    assert await victim.list_events() == ["snapshot.damaged"]


async def test_an_index_that_names_rubbish_in_place_of_good_data_removes_nothing(
    victim: MaintainedSite, tmp_path: Path
):
    """With the password, a node can write a valid index. Nothing depends on how restic prunes then."""
    (yesterday,) = victim.taken
    today = await victim.take_snapshot()
    await victim.expire(today)
    moment = int(time.time())
    await asyncio.sleep(1.1)
    url = victim.site.gateway.token(victim.id, added=BUDGET)
    assert await craft_index(url, victim.site.password) == 200
    before = await victim.list_restic_ids()
    assert not await victim.maintain()
    assert await victim.list_restic_ids() == before
    assert await victim.list_events() == ["snapshot.damaged"]
    await victim.site.restore(tmp_path / "restored", yesterday.restic_id, as_of=moment)


async def test_an_index_that_arrives_after_all_data_was_read_removes_nothing(
    victim: MaintainedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The token of a job that has ended may still be valid while old snapshots are removed."""
    (yesterday,) = victim.taken
    today = await victim.take_snapshot()
    await victim.expire(today)
    url = victim.site.gateway.token(victim.id, added=BUDGET)
    check, statuses = ResticRepository.check, []

    async def check_and_attack(repository: ResticRepository, subset: str | None = None) -> None:
        await check(repository, subset)
        if subset == "100%":
            statuses.append(await craft_index(url, victim.site.password))

    monkeypatch.setattr(ResticRepository, "check", check_and_attack)
    assert await victim.maintain()
    assert statuses == [403]
    assert await victim.list_restic_ids() == {yesterday.restic_id}
    await victim.require_restorable(yesterday, tmp_path / "restored")
    # The repository is open again.
    await victim.take_snapshot()


async def test_the_name_of_a_snapshot_is_no_option_of_restic(
    victim: MaintainedSite, worker: Worker, tmp_path: Path
):
    """A node names the snapshots that it took, and the worker gives the name to restic. Such a name is not
    accepted from a node; if it were, nothing would be executed."""
    touched = tmp_path / "touched"
    name = f"--password-command=touch {touched}"
    answer = Result("here", "job_1", "copy", 1, "done", value=SnapshotTaken(name, f"sha256:{'0' * 64}", 1, 1))
    assert read_result(encode(answer)) == Result("here", "job_1", "copy", 1, "done")
    await victim.sql("update snapshots set restic_id = $2 where id = $1", victim.taken[0].id, name)
    with pytest.raises(RepositoryDamaged):
        await victim.repository.read_file(name, "/manifest.json")
    # restic passes over snapshots that it does not have; whoever asks has looked for them before.
    await victim.repository.has_all_data(name)
    assert not touched.exists()
    maintainer = worker.maintainer(offsite=True)
    # It raises nothing, so other sites are copied after this one.
    await maintainer._try(victim.id, lambda: maintainer._copy(victim.id))
    assert await victim.list_events() == ["snapshot.damaged"]
    assert not touched.exists()


async def test_snapshots_with_chosen_times_do_not_push_out_good_ones(victim: MaintainedSite, tmp_path: Path):
    (yesterday,) = victim.taken
    for moment in ("2031-01-01 00:00:00", "2031-02-01 00:00:00", "2001-01-01 00:00:00"):
        await victim.site.back_up(
            victim.folder, "--host", victim.env, "--time", moment, "--tag", yesterday.id
        )
    assert not await victim.maintain()
    assert await victim.list_events() == ["snapshot.suspicious"]
    await victim.require_restorable(yesterday, tmp_path / "restored")
