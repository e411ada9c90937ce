"""Pushes to production are interrupted in every way. Production has the rows and files from before or those
that it should get, never something in between, and nothing is left."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Command, Result
from stead.protocol.subjects import Program
from stead.protocol.work.hosting import PushMode
from stead.shared.ids import new_id
from tests.node.harness import connected, start_harness
from tests.node.wordpress.faulty_node import FaultyNode, Site, start_faulty_node
from tests.node.wordpress.fingerprints import differences, fingerprint
from tests.node.wordpress.page_request import request_page

Kind = Literal["prepare push", "push", "discard"]
State = dict[str, Any]

POINTS: dict[tuple[PushMode, Kind], tuple[str, ...]] = {
    ("files", "prepare push"): ("before copy_content",),
    ("db", "prepare push"): ("after verify", "after load"),
    ("full", "prepare push"): ("before complete",),
    ("files", "push"): ("before Hosts.open",),
    ("db", "push"): ("after Databases.keep", "after keep_data"),
    ("full", "push"): ("after TreeCopy.run", "before Services.start"),
    ("db", "discard"): ("after Databases.drop",),
    ("full", "discard"): ("before Services.start",),
}
"""Where work is held when it is interrupted. An undo is work as well."""
CASES = [(mode, kind, point) for (mode, kind), points in POINTS.items() for point in points]
EARLIER: dict[Kind, tuple[Kind, ...]] = {
    "prepare push": (),
    "push": ("prepare push",),
    "discard": ("prepare push", "push"),
}
"""What was done before."""
UPLOAD = 256 << 10


@dataclass
class Trial:
    mode: PushMode
    kind: Kind
    point: str
    production: Site
    command: Command = field(init=False, repr=False)
    result: Result = field(init=False, repr=False)
    reached: State = field(default_factory=dict)
    """What production had when the interrupted work was over."""
    undone: State = field(default_factory=dict)
    """And after the undo."""


Trials = dict[tuple[str, str, str], Trial]


@dataclass
class World:
    node: FaultyNode
    staging: Site
    trials: list[Trial]
    before: State = field(default_factory=dict)
    after: dict[PushMode, State] = field(default_factory=dict)

    @property
    def sites(self) -> list[Site]:
        return [self.staging, *(trial.production for trial in self.trials)]


@pytest.fixture(scope="module")
async def world(nats_stack: RunningStack) -> AsyncIterator[World]:
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        start_harness(nats_stack, operator, directory="wpp") as agent,
        start_faulty_node(agent, holding=True) as node,
    ):
        (staging,) = await node.sites(1)
        # The first visitor makes WordPress add a menu.
        await staging.describe()
        sites = await asyncio.gather(*(_copy(staging) for _ in CASES))
        await _change_staging(staging)
        trials = [Trial(*case, site) for case, site in zip(CASES, sites, strict=True)]
        for trial in trials:
            trial.production.mode = trial.mode
            await _visit(trial.production)
        yield World(node, staging, trials)


async def _copy(site: Site) -> Site:
    """Another site with the same rows and files, and also the same host, so that they can be compared."""
    made = Site(site.node, source=site.name, pushed=site.name, hostname=site.host)
    for kind in ("prepare", "switch"):
        result = await made.do(kind)
        assert result.outcome == "done", result
    made.dataset, made.other = made.other, new_id("job")[-14:]
    return made


async def _change_staging(site: Site) -> None:
    await asyncio.to_thread(
        site.query, "update {schema}.wp_options set option_value = 'Pushed' where option_name = 'blogname'"
    )
    (site.paths.content / "plugins" / "new.php").write_text("<?php // new")
    (site.paths.uploads / "kept.txt").write_text("changed in staging")


async def _visit(site: Site) -> None:
    """What only production has: a comment and an upload."""
    await asyncio.to_thread(
        site.query,
        "insert into {schema}.wp_comments"
        " (comment_post_ID, comment_author, comment_content, comment_date_gmt)"
        " values (1, 'visitor', 'Nice!', '2026-01-01')",
    )
    (site.paths.uploads / "invoice.pdf").write_bytes(b"1" * UPLOAD)


async def _look(site: Site) -> State:
    """The rows and files that production has, which are also those that its visitors see."""
    site.follow()
    found = await asyncio.to_thread(fingerprint, site)
    (title,) = (row[2] for row in found["rows"]["wp_options"] if row[1] == "blogname")
    page = await request_page(site.paths.socket, site.host)
    assert f"<title>{title}</title>" in page, page[:300]
    assert site.paths.current.resolve() == site.paths.site
    return found


async def _do(site: Site, *kinds: str) -> None:
    for kind in kinds:
        if kind == "push":
            _upload_late(site)
        result = await site.do(kind)
        assert result.outcome == "done", (kind, result)


def _upload_late(site: Site) -> None:
    """A visitor uploads a file after the new dataset was prepared."""
    (site.paths.uploads / "late.pdf").write_bytes(b"2" * UPLOAD)


async def _undo(site: Site) -> State:
    await _do(site, "discard")
    found = await _look(site)
    site.other = new_id("job")[-14:]
    (site.paths.uploads / "late.pdf").unlink(missing_ok=True)
    found["files"].pop("uploads/late.pdf", None)
    return found


@pytest.fixture(scope="module")
async def pushed(world: World) -> World:
    """Pushes without a fault, which the others are compared with."""
    world.before = await _look(world.trials[0].production)

    async def push(site: Site) -> None:
        await _do(site, "prepare push", "push")
        world.after[site.mode] = await _look(site)
        assert differences(await _undo(site), world.before) == {}

    first = {trial.mode: trial.production for trial in reversed(world.trials)}
    await asyncio.gather(*map(push, first.values()))
    return world


def test_pushes_without_a_fault_give_production_the_files_the_rows_or_both(pushed: World) -> None:
    before, after = pushed.before, pushed.after
    assert after["files"]["rows"] == before["rows"]
    assert after["files"]["files"] == after["full"]["files"]
    assert after["db"]["rows"] == after["full"]["rows"]
    names = {*differences(after["full"], before)["files"]}
    assert {name for name, _ in names} == {"plugins/new.php", "uploads/kept.txt", "uploads/late.pdf"}
    assert {name for name, _ in differences(after["db"], before)["files"]} == {"uploads/late.pdf"}
    assert {*differences(after["db"], before)} == {"wp_options", "files"}


async def _hold(world: World) -> None:
    """All work, held at its point at the same time."""
    trials = world.trials
    await asyncio.gather(*(_do(trial.production, *EARLIER[trial.kind]) for trial in trials))
    for trial in trials:
        if trial.kind == "push":
            _upload_late(trial.production)
        world.node.hold(trial.production, trial.point)
    for trial in trials:
        trial.command = await trial.production.order(trial.kind)
    for trial in trials:
        await world.node.wait_until_held(trial.production, f"{trial.mode}: {trial.kind} {trial.point}")


async def _gather(world: World, trials: Iterable[Trial]) -> Trials:
    async def finish(trial: Trial) -> None:
        trial.undone = await _undo(trial.production)

    await asyncio.gather(*map(finish, trials))
    assert world.node.leftovers(world.sites) == {}
    return {(trial.mode, trial.kind, trial.point): trial for trial in trials}


@pytest.fixture(scope="module")
async def cancelled(pushed: World) -> Trials:
    await _hold(pushed)
    for trial in pushed.trials:
        await pushed.node.cancel(trial.command)
        pushed.node.release(trial.production)
    for trial in pushed.trials:
        trial.result = await pushed.node.result(trial.command)
        if trial.kind != "discard":
            trial.reached = await _look(trial.production)
    return await _gather(pushed, pushed.trials)


@pytest.mark.parametrize(("mode", "kind", "point"), CASES)
def test_a_push_that_is_cancelled_and_undone_leaves_production_as_before(
    mode: PushMode, kind: Kind, point: str, cancelled: Trials, pushed: World
) -> None:
    trial = cancelled[mode, kind, point]
    assert trial.result.outcome == "cancelled", trial.result
    if trial.reached:
        states = [pushed.before, pushed.after[mode]]
        assert any(not _differ(trial.reached, each) for each in states), "in between"
    assert differences(trial.undone, pushed.before) == {}


def _differ(one: State, other: State) -> State:
    """Without the upload that came between the preparation and the switch: production has it always."""
    found = differences(one, other)
    found["files"] = {each for each in found.get("files", ()) if each[0] != "uploads/late.pdf"}
    return {name: rows for name, rows in found.items() if rows}


@pytest.fixture(scope="module")
async def killed(pushed: World, cancelled: Trials) -> Trials:
    """What was cancelled before is done again, and the agent is killed at the same point."""
    await _hold(pushed)
    await pushed.node.restart(holding=True)

    async def finish(trial: Trial) -> None:
        trial.result = await pushed.node.result(trial.command)
        if trial.kind == "prepare push":
            trial.undone = await _look(trial.production)
            await _do(trial.production, "push")
        trial.reached = await _look(trial.production)

    # Not those of the cancelled trials, which are compared later.
    trials = [Trial(trial.mode, trial.kind, trial.point, trial.production) for trial in pushed.trials]
    for trial, held in zip(trials, pushed.trials, strict=True):
        trial.command = held.command
    await asyncio.gather(*map(finish, trials))
    return await _gather(pushed, trials)


@pytest.mark.parametrize(("mode", "kind", "point"), CASES)
def test_a_push_whose_agent_is_killed_is_finished_after_the_restart_and_can_be_undone(
    mode: PushMode, kind: Kind, point: str, killed: Trials, pushed: World
) -> None:
    trial = killed[mode, kind, point]
    assert trial.result.outcome == "done", trial.result
    if kind == "discard":
        assert _differ(trial.reached, pushed.before) == {}
    else:
        assert differences(trial.reached, pushed.after[mode]) == {}
    assert differences(trial.undone, pushed.before) == {}


@pytest.mark.parametrize(
    ("kind", "killed_at", "seen_at"),
    [
        ("push", "before keep_data", "before is_complete"),
        ("discard", "before Databases.create", "before Databases.create"),
    ],
)
async def test_production_is_served_when_the_agent_starts_again_before_it_repeats(
    kind: Kind, killed_at: str, seen_at: str, pushed: World
) -> None:
    """Nobody can write to the database of production during the switch. That must end when the agent starts
    again, not when it has come to the interrupted command."""
    node, site = pushed.node, pushed.trials[-1].production
    await _do(site, *EARLIER[kind])
    node.hold(site, killed_at)
    command = await site.order(kind)
    await node.wait_until_held(site, f"{kind} {killed_at}")
    await node.agent.kill()
    node.hold(site, seen_at)
    node.start(holding=True)
    await node.wait_until_held(site, f"{kind} {seen_at}")
    found = await _look(site)
    assert any(not _differ(found, each) for each in (pushed.before, pushed.after["full"]))
    node.release(site)
    assert (await node.result(command)).outcome == "done"
    assert differences(await _undo(site), pushed.before) == {}


async def test_a_switch_during_which_mariadb_is_killed_is_finished(pushed: World) -> None:
    node, site = pushed.node, pushed.trials[-1].production
    await _do(site, "prepare push")
    _upload_late(site)
    node.hold(site, "before keep_data")
    command = await site.order("push")
    await node.wait_until_held(site, "push before keep_data")
    node.kill_mariadb()
    node.release(site)
    result = await node.result(command)
    assert result.outcome == "done", result
    assert differences(await _look(site), pushed.after["full"]) == {}
    assert differences(await _undo(site), pushed.before) == {}


async def test_a_push_during_whose_import_mariadb_is_killed_is_refused_and_can_be_repeated(
    pushed: World,
) -> None:
    node, site = pushed.node, pushed.trials[-1].production
    command = await site.order("prepare push")
    await node.kill_mariadb_while_it_loads(site)
    result = await node.result(command)
    assert (result.outcome, result.code) == ("refused", "environment.copy_failed"), result
    await node.wait_for_mariadb(site)
    assert differences(await _look(site), pushed.before) == {}
    await _do(site, "prepare push", "push")
    assert differences(await _look(site), pushed.after["full"]) == {}
    assert differences(await _undo(site), pushed.before) == {}


def _fill(directory: Path) -> None:
    with suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
            pass


async def test_a_push_is_refused_when_a_disk_is_full_and_production_is_served_as_before(
    pushed: World,
) -> None:
    node, site = pushed.node, pushed.trials[-1].production
    staged = site.paths.home / f"disk-{site.other}"
    # While its files are copied.
    node.hold(site, "after make_empty")
    command = await site.order("prepare push")
    await node.wait_until_held(site, "prepare push after make_empty")
    _fill(staged)
    node.release(site)
    result = await node.result(command)
    assert (result.outcome, result.code) == ("refused", "environment.copy_failed"), result
    assert differences(await _look(site), pushed.before) == {}
    assert differences(await _undo(site), pushed.before) == {}
    # While its database is dumped.
    with node.full_disk("hosting/dumps"):
        result = await site.do("prepare push")
        assert (result.outcome, result.code) == ("refused", "backup.unverified"), result
        assert differences(await _undo(site), pushed.before) == {}
    # While the latest uploads are copied, when production is stopped.
    await _do(site, "prepare push")
    _fill(site.paths.home / f"disk-{site.other}")
    _upload_late(site)
    result = await site.do("push")
    assert (result.outcome, result.code) == ("refused", "environment.copy_failed"), result
    assert _differ(await _look(site), pushed.before) == {}
    assert differences(await _undo(site), pushed.before) == {}
    await _do(site, "prepare push", "push")
    assert differences(await _look(site), pushed.after["full"]) == {}
    assert differences(await _undo(site), pushed.before) == {}
    assert node.leftovers(pushed.sites) == {}
