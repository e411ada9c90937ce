"""Work on WordPress sites is interrupted in every way. Afterwards nothing is half done, no row is lost, and
no process, mount or file is left."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import pytest

from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Command, Result
from stead.protocol.subjects import Program
from tests.node.harness import connected, start_harness, until
from tests.node.wordpress.faulty_node import (
    NEW_PHP,
    FaultyNode,
    Site,
    signal_processes,
    start_faulty_node,
)

DURING_INSTALLATION = "during the installation"
POINTS = {
    "install": (
        DURING_INSTALLATION,
        *("before make_disk", "after Disks.make", "after Disks.mount", "after attach"),
        *("after Databases.drop", "after Databases.create", "after install", "after Services.start"),
    ),
    "change": ("after attach", "before Services.remove", "after Services.remove", "after Services.start"),
    "restart": ("before Services.remove", "after Services.remove", "after Services.start"),
    "check": ("before Runc.run",),
    "php": ("before Services.remove", "after Services.remove", "after Services.start"),
    "suspend": ("before Services.remove", "after Services.remove", "after Databases.keep"),
    "remove": (
        *("after Services.remove", "before Databases.drop", "after Databases.drop"),
        *("after Disks.unmount", "after files.remove"),
    ),
}
"""Where work is held when it is interrupted."""
CASES = [(kind, point) for kind, points in POINTS.items() for point in points]
KINDS = list(POINTS)
AGAIN = {
    "install": "remove",
    "change": "ensure",
    "restart": "ensure",
    "check": "check",
    "php": "restore",
    "suspend": "ensure",
    "remove": "remove",
}
"""What follows work that was not done."""
INSTALLATION_SECONDS = 5.0
"""The time limit of an installation that hangs."""


@dataclass
class Trial:
    kind: str
    site: Site
    point: str = ""
    command: Command = field(init=False)
    result: Result = field(init=False)
    repeated: Result | None = None
    """Of what followed."""
    has_processes: bool = False
    """Whether a suspended site has any."""
    php: str = NEW_PHP
    """What a site has whose version was switched."""
    state: dict[str, object] = field(default_factory=dict)
    """What is true of the site, if there must be one."""
    kept: bool = True
    leftovers: dict[str, set[str]] = field(default_factory=dict)
    """What is left of it, or missing."""


Trials = dict[tuple[str, str], Trial]


@pytest.fixture(scope="module")
async def node(nats_stack: RunningStack) -> AsyncIterator[FaultyNode]:
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        start_harness(nats_stack, operator, directory="wp") as agent,
        start_faulty_node(agent) as it,
    ):
        yield it


async def _prepare(node: FaultyNode, cases: Iterable[tuple[str, str]]) -> list[Trial]:
    """A new site for each installation, and a complete one for everything else."""
    wanted = list(cases)
    existing = iter(await node.sites(sum(kind != "install" for kind, _ in wanted)))
    return [Trial(kind, Site(node) if kind == "install" else next(existing), point) for kind, point in wanted]


async def _start(trials: Iterable[Trial]) -> None:
    for trial in trials:
        trial.command = await trial.site.order(trial.kind)


async def _resume(trials: Iterable[Trial]) -> None:
    """Resume the sites that were suspended, and restore the version of PHP that was switched."""
    changed = [trial for trial in trials if trial.kind in ("suspend", "php") and trial.repeated is None]
    for trial in changed:
        if trial.kind == "suspend":
            trial.has_processes = trial.site.has_processes
        else:
            trial.php = await trial.site.get_php_version()
    await _repeat(changed)


async def _repeat(trials: Iterable[Trial]) -> None:
    """Do what follows work that was not done, or the suspension of a site."""

    async def repeat(trial: Trial) -> None:
        trial.repeated = await trial.site.do(AGAIN[trial.kind])

    await asyncio.gather(*map(repeat, trials))


async def _finish(node: FaultyNode, trials: list[Trial], exist: Iterable[str]) -> Trials:
    """Describe what is left. After work of the kinds `exist` there is a site, which is used again."""

    async def describe(trial: Trial) -> None:
        trial.state = await trial.site.describe()
        trial.kept = trial.kind == "install" or await asyncio.to_thread(trial.site.has_kept)

    await asyncio.gather(*(describe(trial) for trial in trials if trial.kind in exist))
    alive = [trial.site for trial in trials if trial.state]
    left = await asyncio.to_thread(node.leftovers, [*alive, *node.spare])
    for trial in trials:
        trial.leftovers = {
            what: found
            for what, names in left.items()
            if (found := {each for each in names if trial.site.name in each})
        }
        if trial.kind == "install" and trial.state:
            await trial.site.mark()
    node.spare += alive
    return {(trial.kind, trial.point): trial for trial in trials}


def _check(trial: Trial, *, exists: bool) -> None:
    assert trial.state == (trial.site.complete() if exists else {})
    assert trial.kept
    assert not trial.has_processes
    assert trial.php == NEW_PHP
    assert trial.leftovers == {}


async def _hold(node: FaultyNode) -> list[Trial]:
    """Work of every kind, held at every point at the same time."""
    trials = await _prepare(node, CASES)
    await node.restart(holding=True)
    installing = next(trial for trial in trials if trial.point == DURING_INSTALLATION)
    others = [trial for trial in trials if trial is not installing]
    for trial in others:
        node.hold(trial.site, trial.point)
    await _start([installing])
    signal_processes(await node.installer_of(installing.site), signal.SIGSTOP)
    await _start(others)
    for trial in others:
        await node.wait_until_held(trial.site, f"{trial.kind} {trial.point}")
    return trials


@pytest.fixture(scope="module")
async def killed(node: FaultyNode) -> Trials:
    trials = await _hold(node)
    await node.restart()
    for trial in trials:
        trial.result = await node.result(trial.command)
    await _resume(trials)
    return await _finish(node, trials, KINDS[:-1])


@pytest.mark.parametrize(("kind", "point"), CASES)
def test_work_whose_agent_is_killed_is_finished_after_the_restart(
    kind: str, point: str, killed: Trials
) -> None:
    trial = killed[kind, point]
    assert trial.result.outcome == "done", trial.result
    _check(trial, exists=kind != "remove")


@pytest.fixture(scope="module")
async def cancelled(node: FaultyNode) -> Trials:
    """Installations and removals are followed by a removal, as in a job that is undone; everything else by
    the same work again."""
    trials = await _hold(node)
    for trial in trials:
        await node.cancel(trial.command)
        node.release(trial.site)
    for trial in trials:
        trial.result = await node.result(trial.command)
    await _repeat(trials)
    await node.restart()
    return await _finish(node, trials, KINDS[1:-1])


@pytest.mark.parametrize(("kind", "point"), CASES)
def test_work_that_is_cancelled_leaves_nothing_and_can_be_done_again(
    kind: str, point: str, cancelled: Trials
) -> None:
    trial = cancelled[kind, point]
    assert trial.result.outcome == "cancelled", trial.result
    assert trial.repeated is not None
    assert trial.repeated.outcome == "done", trial.repeated
    _check(trial, exists=AGAIN[kind] != "remove")


async def _kill_mariadb(node: FaultyNode, trials: dict[str, Trial]) -> None:
    """While PHP installs a site, and when the other work begins. The node starts it again."""
    await _start([trials["install"]])
    installer = await node.installer_of(trials["install"].site)
    signal_processes(installer, signal.SIGSTOP)
    node.kill_mariadb()
    signal_processes(installer, signal.SIGCONT)
    await _start(trials[kind] for kind in KINDS[1:])
    await _wait(trials)


async def _use_all_memory(node: FaultyNode, trials: dict[str, Trial]) -> None:
    """An installation and a change have too little of it; visitors use all of it during the rest."""
    for kind in ("install", "change"):
        trials[kind].site.memory_mb = 12
    visits = [
        asyncio.create_task(trials[kind].site.use_all_memory()) for kind in ("restart", "suspend", "remove")
    ]
    await _start(trials.values())
    await _wait(trials)
    await asyncio.gather(*visits)
    trials["change"].site.memory_mb = 256
    trials["change"].repeated = await trials["change"].site.do("ensure")


async def _take_images(node: FaultyNode, trials: dict[str, Trial]) -> None:
    node.take_images()
    await _start(trials.values())
    await _wait(trials)
    node.add_images()
    # Nothing could be released while the images were missing.
    node.known.remove(trials["remove"].site.name)


async def _take_images_and_kill_agent(node: FaultyNode, trials: dict[str, Trial]) -> None:
    node.take_images()
    await node.restart()
    await _start(trials.values())
    await _wait(trials)
    node.add_images()
    node.known.remove(trials["remove"].site.name)
    await node.restart()


async def _stop_php(node: FaultyNode, trials: dict[str, Trial]) -> None:
    """All processes of the sites exist, and none of them does anything."""
    await node.restart(holding=True)
    trials["install"].command = await trials["install"].site.order("install", seconds=INSTALLATION_SECONDS)
    signal_processes(await node.installer_of(trials["install"].site), signal.SIGSTOP)
    others = [trials[kind] for kind in KINDS[1:]]
    for trial in others:
        signal_processes(trial.site.cgroup, signal.SIGSTOP)
    await _start(others)
    await _wait(trials)
    # A check does not touch the processes of the site.
    signal_processes(trials["check"].site.cgroup, signal.SIGCONT)


async def _fill_disks(node: FaultyNode, trials: dict[str, Trial]) -> None:
    """That of the node for an installation, and those of the sites for everything else."""
    with node.full_disk():
        await _start([trials["install"]])
        trials["install"].result = await node.result(trials["install"].command)
        assert node.names_of_disks() == set()
    others = [trials[kind] for kind in KINDS[1:]]
    for trial in others:
        trial.site.fill_disk()
    await _start(others)
    await _wait(trials)
    for trial in others:
        trial.site.free_disk()


async def _wait(trials: dict[str, Trial]) -> None:
    for trial in trials.values():
        trial.result = await trial.site.node.result(trial.command)


FAULTS = {
    "MariaDB is killed": _kill_mariadb,
    "memory is used up": _use_all_memory,
    "images are missing": _take_images,
    "images are missing at the start": _take_images_and_kill_agent,
    "PHP hangs": _stop_php,
    "disks are full": _fill_disks,
}
REFUSED = {
    ("memory is used up", "install"): "cms.not_installed",
    ("images are missing", "install"): "runtime.unsupported",
    ("images are missing", "change"): "runtime.unsupported",
    ("images are missing", "restart"): "internal",
    ("images are missing", "check"): "runtime.unsupported",
    ("images are missing", "php"): "runtime.unsupported",
    ("images are missing at the start", "install"): "runtime.unsupported",
    ("images are missing at the start", "change"): "runtime.unsupported",
    ("images are missing at the start", "restart"): "environment.not_found",
    ("images are missing at the start", "check"): "runtime.unsupported",
    ("images are missing at the start", "php"): "runtime.unsupported",
    ("PHP hangs", "install"): "job.timeout",
    ("disks are full", "install"): "internal",
}
"""Work that cannot be done, and its error code. Everything else is done despite the fault."""


@pytest.fixture(scope="module")
async def disturbed(node: FaultyNode, request: pytest.FixtureRequest) -> Trials:
    trials = await _prepare(node, [(kind, "") for kind in KINDS])
    await FAULTS[request.param](node, {trial.kind: trial for trial in trials})
    await _repeat(trial for trial in trials if trial.result.outcome == "refused")
    refused = (request.param, "install") in REFUSED
    await _resume(trials)
    return await _finish(node, trials, [*KINDS[1:-1], *([] if refused else ["install"])])


@pytest.mark.parametrize("disturbed", FAULTS, indirect=True, scope="module")
@pytest.mark.parametrize("kind", KINDS)
def test_work_is_done_or_refused_and_leaves_nothing_when(
    kind: str, disturbed: Trials, request: pytest.FixtureRequest
) -> None:
    trial, fault = disturbed[kind, ""], request.node.callspec.params["disturbed"]
    code = REFUSED.get((fault, kind))
    assert (trial.result.outcome, trial.result.code) == ("refused" if code else "done", code), trial.result
    assert trial.repeated is None or trial.repeated.outcome == "done", trial.repeated
    _check(trial, exists=kind in KINDS[1:-1] or (kind == "install" and not code))


async def test_a_restart_that_is_cancelled_while_php_hangs_leaves_no_process(node: FaultyNode) -> None:
    (site,) = await node.sites(1)
    signal_processes(site.cgroup, signal.SIGSTOP)
    command = await site.order("restart")
    await node.wait_for_signal(site, signal.SIGQUIT)
    await node.cancel(command)
    assert (await node.result(command)).outcome == "cancelled"
    assert not site.has_processes
    assert (await site.do("ensure")).outcome == "done"
    assert await site.describe() == site.complete()
    node.spare.append(site)


COMMAND = "cd /srv/site/wp-content/uploads && touch one && touch two && {rest}"
INTERRUPTED = {
    "before Runc.run": set(),
    "during": {"one", "two"},
    "after Runc.run": {"one", "two"},
}
"""Where a command of a customer is interrupted, and which files it has made."""


async def test_a_command_whose_agent_is_killed_is_not_repeated_and_leaves_nothing(node: FaultyNode) -> None:
    sites = dict(zip(INTERRUPTED, await node.sites(len(INTERRUPTED)), strict=True))
    await node.restart(holding=True)
    commands = {}
    for point, site in sites.items():
        node.hold(site, point)
        site.args = ("-c", COMMAND.format(rest="sleep 86400" if point == "during" else "true"))
        commands[point] = await site.order("exec")
    for point, site in sites.items():
        if point != "during":
            await node.wait_until_held(site, f"exec {point}")

    async def has_begun() -> bool | None:
        return (sites["during"].paths.uploads / "two").exists() or None

    await until(has_begun)
    await node.restart()
    for point, site in sites.items():
        result = await node.result(commands[point])
        assert (result.outcome, result.code) == ("refused", "exec.failed"), point
        assert "interrupted" in (result.reason or ""), point
        made = {path.name for path in site.paths.uploads.iterdir()} & {"one", "two"}
        assert made == INTERRUPTED[point], point
        assert await site.describe() == site.complete(), point
        assert site.has_kept(), point
    found = node.leftovers([*sites.values(), *node.spare])
    names = {site.name for site in sites.values()}
    assert {
        what for what, each in found.items() if any(name in text for name in names for text in each)
    } == set()
    for site in sites.values():
        site.args = ("-c", COMMAND.format(rest="true"))
        assert (await site.do("exec")).outcome == "done"
    node.spare += sites.values()


FAILS_FOR_VISITORS = "<?php if (PHP_SAPI !== 'cli' && PHP_VERSION_ID >= 80400) missing_function();"


async def test_a_version_of_php_on_which_a_site_fails_is_left_also_if_the_agent_is_killed(
    node: FaultyNode,
) -> None:
    points = ("before Services.remove", "after Services.start")
    sites = dict(zip(points, await node.sites(len(points)), strict=True))
    await node.restart(holding=True)
    commands = {}
    for point, site in sites.items():
        plugin = site.paths.content / "mu-plugins" / "fails.php"
        plugin.parent.mkdir(exist_ok=True)
        plugin.write_text(FAILS_FOR_VISITORS)
        node.hold(site, point)
        commands[point] = await site.order("php")
    for point, site in sites.items():
        await node.wait_until_held(site, f"php {point}")
    await node.restart()
    for point, site in sites.items():
        result = await node.result(commands[point])
        assert (result.outcome, result.code) == ("refused", "php.unhealthy"), point
        assert await site.describe() == site.complete(), point
        (site.paths.content / "mu-plugins" / "fails.php").unlink()
    node.spare += sites.values()
