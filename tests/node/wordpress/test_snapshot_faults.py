"""Snapshots are interrupted in every way, on a real node with the real gateway. There is never a snapshot
that counts and cannot be restored, what visitors see never changes, and everything can be repeated."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stead.dev.engines.nats import Nats
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.programs import Repositories
from stead.dev.running_stack import RunningStack, run_stack
from stead.node.containers.disks import mounted_below
from stead.protocol.commands import Command, Result
from stead.protocol.subjects import Program
from stead.protocol.work.snapshots import RepositoryAccess, SnapshotTaken, SnapshotVerified
from stead.shared.ids import new_id
from tests.node.harness import connected, make_streams, start_harness, until
from tests.node.wordpress.faulty_node import PATIENCE, FaultyNode, Site, start_faulty_node
from tests.node.wordpress.fingerprints import differences, fingerprint
from tests.repositories.site_backups import BackedUpSite, Gateway

KILLED = [
    *(
        ("take", "after snapshot dump"),
        ("take", "before Repository.backup"),
        ("take", "after Repository.backup"),
    ),
    *(("verify", "after load_stream"), ("verify", "before boot")),
    *(("recover", "after load_stream"), ("recover", "after complete")),
]
CANCELLED = [
    ("take", "before Repository.backup"),
    ("verify", "before boot"),
    ("recover", "after load_stream"),
]
ROWS = 1000


@dataclass
class Trial:
    kind: str
    point: str
    site: Site
    backed_up: BackedUpSite
    command: Command = field(init=False)
    result: Result = field(init=False)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    restored: dict[str, Any] = field(default_factory=dict)
    verified: Result | None = None
    stored: list[str] = field(default_factory=list)


@dataclass
class World:
    stack: RunningStack
    node: FaultyNode
    gateway: Gateway


@pytest.fixture(scope="module")
async def world(shared_scratch: Path) -> AsyncIterator[World]:
    async with run_stack(shared_scratch, [Nats, SeaweedFS, Repositories]) as stack:
        gateway = Gateway.of(stack)
        await gateway.store.objects().ensure_bucket()
        async with connected(stack, Program.OPERATOR) as operator:
            await make_streams(operator)
            async with (
                start_harness(stack, operator, directory="wps") as agent,
                start_faulty_node(agent, holding=True) as node,
            ):
                yield World(stack, node, gateway)


async def _new_sites(world: World, number: int) -> list[tuple[Site, BackedUpSite]]:
    made = await world.node.sites(number)
    found = []
    for site in made:
        backed_up = await world.gateway.new_site()
        site.repository = _access(backed_up)
        values = ", ".join(f"('row {row}', repeat('x', 2000))" for row in range(ROWS))
        await asyncio.to_thread(
            site.query, f"insert into {{schema}}.wp_options (option_name, option_value) values {values}"
        )
        (site.paths.uploads / "photo.jpg").write_bytes(os.urandom(1 << 20))
        found.append((site, backed_up))
    return found


def _access(backed_up: BackedUpSite, password: str = "") -> RepositoryAccess:
    url = backed_up.gateway.token(backed_up.id, seconds=3600)
    return RepositoryAccess(url, password or backed_up.password)


async def _take(site: Site) -> SnapshotTaken:
    result = await site.do("take")
    assert result.outcome == "done", result
    assert isinstance(result.value, SnapshotTaken)
    site.taken = result.value
    return result.value


async def _verify(site: Site) -> Result:
    result = await site.do("verify")
    assert result.outcome == "done", result
    assert isinstance(result.value, SnapshotVerified)
    assert result.value.booted
    return result


async def _restore(site: Site) -> dict[str, Any]:
    """Restore and serve the snapshot; return what is served."""
    for kind in ("recover", "switch"):
        result = await site.do(kind)
        assert result.outcome == "done", result
    site.dataset, site.other = site.other, new_id("job")[-14:]
    return await asyncio.to_thread(fingerprint, site)


async def _list_stored(backed_up: BackedUpSite) -> list[str]:
    completed = await backed_up.restic("list", "snapshots", "--no-lock")
    assert completed.code == 0, completed.errors
    return completed.output.split()


async def _start_trials(world: World, cases: list[tuple[str, str]]) -> list[Trial]:
    """Work of each kind, held at each point at the same time."""
    made = await _new_sites(world, len(cases))
    trials = [
        Trial(kind, point, site, backed_up)
        for (kind, point), (site, backed_up) in zip(cases, made, strict=True)
    ]
    for trial in trials:
        trial.before = await asyncio.to_thread(fingerprint, trial.site)
    await asyncio.gather(*(_take(trial.site) for trial in trials if trial.kind != "take"))
    for trial in trials:
        world.node.hold(trial.site, trial.point)
    for trial in trials:
        trial.command = await trial.site.order(trial.kind)
    for trial in trials:
        await world.node.wait_until_held(trial.site, f"{trial.kind} {trial.point}")
    return trials


async def _finish(trial: Trial) -> None:
    """What was interrupted has ended. Everything is repeated to its end."""
    site = trial.site
    if trial.kind == "take":
        if trial.result.outcome != "done":
            await _take(site)
        else:
            assert isinstance(trial.result.value, SnapshotTaken)
            site.taken = trial.result.value
    trial.after = await asyncio.to_thread(fingerprint, site)
    if trial.kind == "take":
        trial.verified = await _verify(site)
    trial.stored = await _list_stored(trial.backed_up)
    trial.restored = await _restore(site)


async def _remove(world: World, trials: list[Trial]) -> None:
    results = await asyncio.gather(*(trial.site.do("remove") for trial in trials))
    assert {result.outcome for result in results} == {"done"}
    assert not {name for trial in trials for name in trial.site.paths.list_datasets()}
    home = world.node.data / "hosting" / "snapshots"
    assert not [path for trial in trials for path in home.glob(trial.site.name)]
    assert not mounted_below(home)


@pytest.fixture(scope="module")
async def killed(world: World) -> dict[tuple[str, str], Trial]:
    trials = await _start_trials(world, KILLED)
    await world.node.restart(holding=True)
    for trial in trials:
        trial.result = await world.node.result(trial.command)
    await asyncio.gather(*map(_finish, trials))
    await _remove(world, trials)
    return {(trial.kind, trial.point): trial for trial in trials}


@pytest.mark.parametrize(("kind", "point"), KILLED)
def test_work_whose_agent_is_killed_is_finished_after_the_restart(
    kind: str, point: str, killed: dict[tuple[str, str], Trial]
) -> None:
    trial = killed[kind, point]
    assert trial.result.outcome == "done", trial.result
    assert not differences(trial.before, trial.after)
    assert not differences(trial.before, trial.restored)
    assert len(trial.stored) == 1


@pytest.fixture(scope="module")
async def cancelled(world: World) -> dict[tuple[str, str], Trial]:
    trials = await _start_trials(world, CANCELLED)
    for trial in trials:
        await world.node.cancel(trial.command)
        world.node.release(trial.site)
    for trial in trials:
        trial.result = await world.node.result(trial.command)
        if trial.kind == "recover":
            assert (await trial.site.do("discard")).outcome == "done"
    await asyncio.gather(*map(_finish, trials))
    await _remove(world, trials)
    return {(trial.kind, trial.point): trial for trial in trials}


@pytest.mark.parametrize(("kind", "point"), CANCELLED)
def test_work_that_is_cancelled_changes_nothing_and_can_be_repeated(
    kind: str, point: str, cancelled: dict[tuple[str, str], Trial]
) -> None:
    trial = cancelled[kind, point]
    assert trial.result.outcome == "cancelled", trial.result
    assert not differences(trial.before, trial.after)
    assert not differences(trial.before, trial.restored)
    assert len(trial.stored) == 1


@pytest.fixture
async def stored(world: World) -> AsyncIterator[tuple[Site, BackedUpSite]]:
    ((site, backed_up),) = await _new_sites(world, 1)
    yield site, backed_up
    assert (await site.do("remove")).outcome == "done"


async def test_a_snapshot_is_refused_when_mariadb_ends_during_the_dump_and_can_be_repeated(
    world: World, stored: tuple[Site, BackedUpSite]
) -> None:
    site, backed_up = stored
    # More than the dump can write before it is seen.
    await asyncio.to_thread(
        site.query,
        "create table {schema}.much as select seq, repeat('y', 4000) as t from {schema}.seq_1_to_30000",
    )
    command = await site.order("take")
    file = world.node.data / "hosting" / "snapshots" / site.name / "tree" / "database.sql"

    async def look() -> bool | None:
        with suppress(FileNotFoundError):
            return file.stat().st_size > 0 or None
        return None

    await until(look, PATIENCE, pause=0.002)
    world.node.kill_mariadb()
    result = await world.node.result(command)
    assert (result.outcome, result.code) == ("refused", "backup.interrupted"), result
    await world.node.wait_for_mariadb(site)
    assert await _list_stored(backed_up) == []
    await _take(site)
    await _verify(site)


async def test_a_snapshot_is_refused_when_the_disk_of_the_node_is_full(
    world: World, stored: tuple[Site, BackedUpSite]
) -> None:
    site, backed_up = stored
    (world.node.data / "hosting" / "snapshots").mkdir(mode=0o711, exist_ok=True)
    with world.node.full_disk("hosting/snapshots"):
        result = await site.do("take")
    assert (result.outcome, result.code) == ("refused", "backup.disk_full"), result
    assert await _list_stored(backed_up) == []
    await _take(site)
    await _verify(site)


async def test_a_snapshot_is_refused_when_the_store_is_lost_during_the_upload(
    world: World, stored: tuple[Site, BackedUpSite]
) -> None:
    site, backed_up = stored
    (site.paths.uploads / "large.bin").write_bytes(os.urandom(60 << 20))
    world.node.hold(site, "before Repository.backup")
    command = await site.order("take")
    await world.node.wait_until_held(site, "before Repository.backup")
    before = await _count_objects(backed_up)
    world.node.release(site)

    async def look() -> bool | None:
        return await _count_objects(backed_up) > before or None

    await until(look, PATIENCE, pause=0.01)
    await world.stack.kill(Repositories)
    try:
        result = await world.node.result(command)
    finally:
        await world.stack.start(Repositories)
    assert (result.outcome, result.code) == ("refused", "backup.store_unavailable"), result
    site.repository = _access(backed_up)
    assert await _list_stored(backed_up) == []
    await _take(site)
    await _verify(site)


async def _count_objects(backed_up: BackedUpSite) -> int:
    objects, count = backed_up.gateway.store.objects(), 0
    async for batch in objects.list_objects(f"backups/{backed_up.id}/data/"):
        count += len(batch)
    return count


async def test_a_wrong_password_is_named_and_nothing_is_stored(
    stored: tuple[Site, BackedUpSite],
) -> None:
    site, backed_up = stored
    site.repository = _access(backed_up, "another password")
    result = await site.do("take")
    assert (result.outcome, result.code) == ("refused", "backup.password_wrong"), result
    site.repository = _access(backed_up)
    assert await _list_stored(backed_up) == []
    await _take(site)
    site.repository = _access(backed_up, "another password")
    for kind in ("verify", "recover"):
        result = await site.do(kind)
        assert (result.outcome, result.code) == ("refused", "backup.password_wrong"), result
    assert site.paths.list_datasets() == {""}
