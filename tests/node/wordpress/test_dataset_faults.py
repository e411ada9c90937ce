"""Copies of WordPress sites are interrupted in every way. Production never changes, and a copy is as it was
before or as it should be, never in between."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Command, Result
from stead.protocol.subjects import Program
from stead.shared.ids import new_id
from tests.node.harness import connected, start_harness
from tests.node.wordpress.faulty_node import FaultyNode, Site, start_faulty_node
from tests.node.wordpress.fingerprints import fingerprint

POINTS = {
    "prepare": ("after make_empty", "before load", "after load", "after complete"),
    "refresh": ("after load",),
    "reset": ("before reinstall", "after reinstall"),
    "switch": ("before Services.remove", "after Services.start", "after Databases.keep"),
    "discard": ("after Services.start", "before Databases.drop"),
}
CASES = [(kind, point) for kind, points in POINTS.items() for point in points]
ROWS = 4000


@dataclass
class Trial:
    kind: str
    point: str
    site: Site
    command: Command = field(init=False)
    result: Result = field(init=False)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    datasets: set[str] = field(default_factory=set)
    """The disks and schemas that it has in the end."""


@dataclass
class World:
    node: FaultyNode
    production: Site
    fingerprint: dict[str, Any]
    """Of production, before anything is copied."""
    trials: dict[tuple[str, str], Trial] = field(default_factory=dict)


@pytest.fixture(scope="module")
async def world(nats_stack: RunningStack) -> AsyncIterator[World]:
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        start_harness(nats_stack, operator, directory="wpd") as agent,
        start_faulty_node(agent) as node,
    ):
        (production,) = await node.sites(1)
        values = ", ".join(f"('row {number}', repeat('x', 4000))" for number in range(ROWS))
        await asyncio.to_thread(
            production.query,
            f"insert into {{schema}}.wp_options (option_name, option_value) values {values}",
        )
        (production.paths.uploads / "photo.jpg").write_bytes(os.urandom(2 << 20))
        yield World(node, production, await asyncio.to_thread(fingerprint, production))


def _new_clone(world: World) -> Site:
    return Site(world.node, source=world.production.name)


async def _clone(world: World) -> Site:
    """A copy of production with a change of its own."""
    site = _new_clone(world)
    for kind in ("prepare", "switch"):
        result = await site.do(kind)
        assert result.outcome == "done", result
    site.dataset, site.other = site.other, new_id("job")[-14:]
    await asyncio.to_thread(
        site.query, "update {schema}.wp_options set option_value = 'own' where option_name = 'blogname'"
    )
    return site


async def _start_trials(world: World) -> list[Trial]:
    """Work of each kind, held at each point at the same time. What is switched and discarded was prepared."""
    made = await asyncio.gather(*(_clone(world) for kind, _ in CASES if kind != "prepare"))
    existing = iter(made)
    trials = [
        Trial(kind, point, _new_clone(world) if kind == "prepare" else next(existing))
        for kind, point in CASES
    ]
    for trial in trials:
        if trial.kind != "prepare":
            trial.before = await asyncio.to_thread(fingerprint, trial.site)
    for earlier, kinds in (("prepare", ("switch", "discard")), ("switch", ("discard",))):
        results = await asyncio.gather(*(trial.site.do(earlier) for trial in trials if trial.kind in kinds))
        assert {result.outcome for result in results} == {"done"}, results
    await world.node.restart(holding=True)
    for trial in trials:
        world.node.hold(trial.site, trial.point)
    for trial in trials:
        trial.command = await trial.site.order("prepare" if trial.kind == "refresh" else trial.kind)
    for trial in trials:
        await world.node.wait_until_held(trial.site, f"{trial.kind} {trial.point}")
    return trials


async def _look(trial: Trial, dataset: str) -> None:
    trial.site.dataset = dataset
    trial.after = await asyncio.to_thread(fingerprint, trial.site)
    trial.datasets = trial.site.paths.list_datasets()


async def _remove(world: World, trials: list[Trial]) -> None:
    results = await asyncio.gather(*(trial.site.do("remove") for trial in trials))
    assert {result.outcome for result in results} == {"done"}
    left = {name for trial in trials for name in trial.site.paths.list_datasets()}
    schemas = world.production.query("select schema_name from information_schema.schemata")
    names = {trial.site.name for trial in trials}
    assert not left
    assert not [name for (name,) in schemas if str(name)[:30] in names]


@pytest.fixture(scope="module")
async def killed(world: World) -> dict[tuple[str, str], Trial]:
    trials = await _start_trials(world)
    await world.node.restart()
    for trial in trials:
        trial.result = await world.node.result(trial.command)
        if trial.kind in ("prepare", "refresh", "reset"):
            switched = await trial.site.do("switch")
            assert switched.outcome == "done", switched
        await _look(trial, trial.site.dataset if trial.kind == "discard" else trial.site.other)
    await _remove(world, trials)
    return {(trial.kind, trial.point): trial for trial in trials}


@pytest.mark.parametrize(("kind", "point"), CASES)
def test_work_whose_agent_is_killed_is_finished_after_the_restart(
    kind: str, point: str, killed: dict[tuple[str, str], Trial], world: World
) -> None:
    trial = killed[kind, point]
    assert trial.result.outcome == "done", trial.result
    if kind == "reset":
        assert [row[1:3] for row in _content(trial.after)["options"]] == [("blogname", "A Site")]
        assert not [name for name in trial.after["files"] if name.startswith("uploads/")]
    else:
        assert _content(trial.after) == _content(trial.before if kind == "discard" else world.fingerprint)


def _content(found: dict[str, Any]) -> dict[str, Any]:
    """What a copy has in common with its source."""
    options = [
        row for row in found["rows"]["wp_options"] if str(row[1]).startswith("row ") or row[1] == "blogname"
    ]
    posts = [row[:6] for row in found["rows"]["wp_posts"]]
    return {"options": options, "posts": posts, "files": found["files"]}


@pytest.fixture(scope="module")
async def cancelled(world: World) -> dict[tuple[str, str], Trial]:
    """What was cancelled is undone, as a job does it."""
    trials = await _start_trials(world)
    for trial in trials:
        await world.node.cancel(trial.command)
        world.node.release(trial.site)
    for trial in trials:
        trial.result = await world.node.result(trial.command)
        undone = await trial.site.do("remove" if trial.kind == "prepare" else "discard")
        assert undone.outcome == "done", undone
        if trial.kind != "prepare":
            await _look(trial, trial.site.dataset)
    await _remove(world, trials)
    return {(trial.kind, trial.point): trial for trial in trials}


@pytest.mark.parametrize(("kind", "point"), CASES)
def test_work_that_is_cancelled_and_undone_leaves_everything_as_before(
    kind: str, point: str, cancelled: dict[tuple[str, str], Trial]
) -> None:
    trial = cancelled[kind, point]
    assert trial.result.outcome == "cancelled", trial.result
    assert trial.after == trial.before
    if kind != "prepare":
        assert trial.datasets == {trial.site.dataset}


async def test_a_copy_fails_and_can_be_repeated_when_mariadb_is_killed_while_it_is_loaded(
    world: World,
) -> None:
    site = _new_clone(world)
    command = await site.order("prepare")
    await world.node.kill_mariadb_while_it_loads(site)
    result = await world.node.result(command)
    assert (result.outcome, result.code) == ("refused", "environment.copy_failed"), result
    for kind in ("prepare", "switch"):
        site_result = await site.do(kind)
        assert site_result.outcome == "done", site_result
    site.dataset = site.other
    assert _content(fingerprint(site)) == _content(world.fingerprint)
    assert (await site.do("remove")).outcome == "done"


async def test_a_copy_is_refused_when_a_disk_is_full_and_the_environment_serves_what_it_served(
    world: World,
) -> None:
    site = await _clone(world)
    before = fingerprint(site)
    await world.node.restart(holding=True)
    world.node.hold(site, "after make_empty")
    command = await site.order("prepare")
    await world.node.wait_until_held(site, "prepare after make_empty")
    staged = site.paths.home / f"disk-{site.other}" / "filler"
    with suppress(OSError), staged.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass
    world.node.release(site)
    result = await world.node.result(command)
    assert (result.outcome, result.code) == ("refused", "environment.copy_failed"), result
    assert (await site.do("discard")).outcome == "done"
    assert fingerprint(site) == before
    assert site.paths.list_datasets() == {site.dataset}
    assert (await site.do("remove")).outcome == "done"


async def test_production_has_the_same_rows_and_files_after_all_of_it(world: World) -> None:
    assert fingerprint(world.production) == world.fingerprint
    assert (await world.production.describe())["page"]
