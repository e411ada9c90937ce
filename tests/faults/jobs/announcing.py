"""Jobs of live sites, caught while they tell the edge, and what visitors meet meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.jobs import checks
from tests.faults.jobs.bucket import Told, told
from tests.faults.jobs.cases import TELLING, Case, Trial, Trials, go_on, observe
from tests.faults.jobs.edge import Edge, Sight, Visitor, visited
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import Site
from tests.feature_samples import merged

AT_ONCE = 7
"""Each adds to the time for which the edge is held, and workers wait only so long for it."""

SERVED: Sight = (200, "")
UNKNOWN: Sight = (404, "unknown_host")
MISSING: Sight = (404, "not_found")
NOT_ALLOWED: Sight = (403, "not_allowed")
SUSPENDED: Sight = (503, "suspended")


@dataclass(frozen=True)
class View:
    """What a visitor meets before a job, and after it."""

    old: Sight
    new: Sight
    path: str = "/"


VIEWS: dict[str, View] = {
    "deployment.deploy": View(UNKNOWN, SERVED),
    "deployment.deploy_artifact": View(MISSING, SERVED, "/only-2.html"),
    "deployment.promote": View(MISSING, SERVED, "/only-2.html"),
    "deployment.rollback": View(MISSING, SERVED, "/only-1.html"),
    "site.restart": View(SERVED, SERVED),
    "site.restart/recover": View(UNKNOWN, SERVED),
    "site.delete": View(SERVED, UNKNOWN),
    "site.delete/purge": View(UNKNOWN, UNKNOWN),
    "site.config_apply": View(SERVED, NOT_ALLOWED),
    "environment.config_apply": View(SERVED, NOT_ALLOWED),
    "job.redirects_apply": View((301, "/one"), (302, "/two"), "/old"),
    "job.cache_purge": View(SERVED, SERVED),
    "environment.clone": View(UNKNOWN, SERVED),
    "environment.create": View(UNKNOWN, SERVED),
    "environment.destroy": View(SERVED, UNKNOWN),
    "environment.suspend": View(SERVED, SUSPENDED),
    "environment.resume": View(SUSPENDED, SERVED),
    "environment.refresh": View(MISSING, SERVED, "/only-1.html"),
    "environment.reset": View(SERVED, MISSING, "/only-2.html"),
    "environment.push": View(MISSING, SERVED, "/only-2.html"),
}


def view_of(case: Case) -> View:
    views = {**VIEWS, **merged("views")}
    assert case.kind.name in views, (
        f"Nothing says what a visitor sees while {case.kind.name} announces: add it to `views` in the"
        " feature's samples.py."
    )
    return views[case.kind.name]


@dataclass
class Announcing(Trial):
    visitor: Visitor = field(kw_only=True)
    told_before: dict[str, Told] = field(default_factory=dict)
    told_after: dict[str, Told] = field(default_factory=dict)
    met: Sight | None = None
    """What a visitor met who came when the job had ended."""


@dataclass
class Stage:
    """Every job that tells the edge is telling it, and it does not listen."""

    harness: Harness
    edge: Edge
    trials: Sequence[Announcing]
    client: httpx.AsyncClient

    async def concluded(self, *, bound: float = 90.0) -> None:
        """Every trial with its outcome, or with what kept it from one."""
        for trial in self.trials:
            try:
                await self.harness.ended(trial.job, bound=bound)
                trial.outcome = await observe(self.harness, trial.job)
                trial.told_after = await _told(self.harness, trial.site)
            except AssertionError as error:
                trial.error, bound = error, 1.0

    async def visit(self) -> None:
        for trial in self.trials:
            trial.met = await trial.visitor.look(self.client)

    async def visit_until_old(self) -> None:
        """For a refusal by an edge that did not hear: it has to be told once it listens again."""
        for trial in self.trials:
            await until(self._is_old, f"{trial.case}: the old is met again", trial, bound=30)

    async def _is_old(self, trial: Announcing) -> bool:
        trial.met = await trial.visitor.look(self.client)
        return trial.met == view_of(trial.case).old


Fault = Callable[[Stage], Awaitable[None]]
"""What happens to jobs that are caught, until they have ended and visitors have come once more."""


async def met(harness: Harness, fault: Fault, *, follow: bool = False) -> Trials:
    """Every case with its outcome. `follow`: and with one more job of the same site, which had to wait for
    the one that failed."""
    trials: list[Announcing] = []
    for first in range(0, len(TELLING), AT_ONCE):
        async with caught(harness, TELLING[first : first + AT_ONCE]) as stage:
            await fault(stage)
        if follow:
            await asyncio.gather(*(go_on(harness, it) for it in stage.trials if it.error is None))
        trials += stage.trials
    return Trials(trials)


@asynccontextmanager
async def caught(harness: Harness, cases: Sequence[Case]) -> AsyncIterator[Stage]:
    edge = Edge(harness.stack)
    sites = await asyncio.gather(*(case.scenario.prepare(harness) for case in cases))
    trials = [
        Announcing(case, site, visitor=Visitor(edge, site.host, view_of(case).path))
        for case, site in zip(cases, sites, strict=True)
    ]
    async with visited(*(trial.visitor for trial in trials)) as client:
        await until(_everybody_looked, "every site was visited", trials)
        for trial in trials:
            trial.told_before = await _told(harness, trial.site)
        probing = [trial for trial in trials if trial.case.probes_first]
        try:
            async with _held_after_probing(harness, probing):
                edge.hold()
            for trial in trials:
                if trial not in probing:
                    trial.job = await trial.case.scenario.start(harness, trial.site)
            for trial in trials:
                await until(_announced, f"{trial.case} has told the edge", harness, trial)
            yield Stage(harness, edge, trials, client)
        finally:
            edge.go_on()


@asynccontextmanager
async def _held_after_probing(harness: Harness, trials: Sequence[Announcing]) -> AsyncIterator[None]:
    """Their jobs have begun, and wait for us where they would write what the edge is to be told."""
    connection = await harness.connect()
    try:
        await connection.execute("begin")
        sites = [trial.site.id for trial in trials]
        await connection.fetch("select from environments where site_id = any($1) for no key update", sites)
        for trial in trials:
            trial.job = await trial.case.scenario.start(harness, trial.site)

        async def waiting() -> bool:
            blocked = await harness.sql(
                "select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
                connection.get_server_pid(),
            )
            return len(blocked) >= len(trials)

        await until(waiting, "every job that asks first has asked")
        yield
    finally:
        await connection.close()


async def _everybody_looked(trials: Sequence[Announcing]) -> bool:
    return all(trial.visitor.sights for trial in trials)


async def _told(harness: Harness, site: Site) -> dict[str, Told]:
    rows = await harness.sql("select * from sites where id = $1", site.id)
    if not rows or (site.subdomain and not site.env):
        # What a job is about is yet to be made.
        return {}
    found = await harness.sql(
        "select * from environments where case when $2 = '' then site_id = $1 and type = 'production'"
        " else id = $2 end",
        site.id,
        site.env,
    )
    return await told(harness, rows[0], found[0])


async def _announced(harness: Harness, trial: Announcing) -> bool:
    now = await _told(harness, trial.site)
    before = trial.told_before
    return any(it.revision > before.get(key, Told()).revision for key, it in now.items())


def _records(told_: dict[str, Told]) -> dict[str, Any]:
    """What stands, without what a purge leaves: there is nothing to be taken back of one."""
    return {key: it.record for key, it in told_.items() if ".purge." not in key and it.record is not None}


def met_only_old_and_new(trial: Announcing, *, edge_was_down: bool = False) -> None:
    view = view_of(trial.case)
    assert trial.visitor.sights <= {view.old, view.new}
    assert edge_was_down or trial.visitor.unanswered == []


def succeeded(trial: Announcing, *, edge_was_down: bool = False) -> None:
    checks.succeeded(trial.case, trial.seen)
    met_only_old_and_new(trial, edge_was_down=edge_was_down)
    assert trial.met == view_of(trial.case).new


def failed(trial: Announcing, code: str, message: str, *, refused: bool = False, lost: bool = False) -> None:
    case, seen = trial.case, trial.seen
    checks.failed(case, seen, code, message, refused=refused, lost=lost)
    checks.left(seen, case.scenario.failed_in(case.step.name), reason=message)
    met_only_old_and_new(trial)
    assert trial.met == view_of(case).old
    if case.step.undo_announce is not None or trial.told_before:
        after, before = _records(trial.told_after), _records(trial.told_before)
        if case.step.name == "forget":
            # Nobody can see them any more, and the next attempt finds nothing to do.
            assert after.items() <= before.items()
        else:
            assert after == before
