"""A case is a kind of job, a step of it, and a fault while that step is under way."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from stead.control.jobs.definition import Step, Workflow
from tests.faults.jobs.bucket import announced_hosts
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import PACE, Entry
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import Said, Scenario, Site, kinds, scenario_of, scenarios
from tests.teams import NOT_ON_THE_WAY


@dataclass(frozen=True)
class Case:
    kind: Workflow[Any]
    step: Step
    live: bool = False
    """On a site that visitors meet; else on one of the simulator, which no edge is told of."""

    def __str__(self) -> str:
        return f"{self.kind.name}-{self.step.name}"

    @property
    def is_caught_in_simulator(self) -> bool:
        """A step that does no more than tell the edges is over at once there."""
        return self.step.is_transaction or self.on_node

    @property
    def on_node(self) -> bool:
        return self.step.command is not None

    def asks(self, step: Step) -> bool:
        """Whether the node is asked, and not the edge told."""
        return step.command is not None and not (self.live and step.announce is not None)

    def asks_to_undo(self, step: Step) -> bool:
        return step.undo_command is not None and not (self.live and step.undo_announce is not None)

    @property
    def probes_first(self) -> bool:
        """Whether the edge is asked something before this step."""
        return any(step.name == "probe" for step in self.begun[:-1])

    @property
    def scenario(self) -> Scenario:
        return scenario_of(self.kind)

    @property
    def may_refuse(self) -> bool:
        """Some control steps never do; one that nobody has spoken of is expected to."""
        known = scenarios().get(self.kind.name)
        return self.on_node or known is None or known.refuse.get(self.step.name, True) is not None

    @property
    def begun(self) -> list[Step]:
        """The steps that have begun when this one is under way."""
        steps = list(self.kind.steps.values())
        return steps[: steps.index(self.step) + 1]


def cases_of(kind: Workflow[Any]) -> list[Case]:
    return [Case(kind, step) for step in kind.steps.values()]


_KINDS = kinds()
EVERY = [case for kind in _KINDS for case in cases_of(kind)]
CASES = [case for case in EVERY if case.is_caught_in_simulator]
TELLING = [Case(case.kind, case.step, live=True) for case in EVERY if case.step.announce is not None]
LABOURING = [case for case in EVERY if case.step.long_action is not None]
"""What a worker does itself; nothing of the simulator holds it there."""
EACH = [cases_of(kind)[-1] for kind in _KINDS]
"""Every kind of job once, all the way through."""
TRIED: set[tuple[str, str]] = set()
"""The cases that were tried so far, by fault."""


@dataclass
class Outcome:
    """All that there is to be seen of a job that has ended, and of its site."""

    status: str
    error: dict[str, Any] | None
    result: dict[str, Any]
    site: dict[str, Any]
    environment: dict[str, Any]
    events: list[str]
    control: set[str]
    node: dict[str, Entry]
    hosts: set[str]
    carried: bool
    said: Said
    shows: int

    @property
    def subject(self) -> dict[str, Any]:
        """What the job was about: an environment besides production, or the site."""
        return self.site if self.environment["type"] == "production" else self.environment

    @property
    def names(self) -> set[str]:
        """Its hosts."""
        subdomain = self.environment["subdomain"]
        return {self.site["domain"], subdomain} if self.subject is self.site else {subdomain}


@dataclass
class Trial:
    case: Case
    site: Site
    job: str = ""
    hold: Any = None
    """A connection that holds the control step."""
    pid: int = 0
    """The process of the step on the node."""
    before: dict[str, Any] = field(default_factory=dict)
    """The site's row when the job was started."""
    outcome: Outcome | None = None
    note: Any = None
    error: BaseException | None = None
    following: str = ""
    """How another job of the same site ended that came after this one."""

    @property
    def place(self) -> tuple[str, str]:
        return self.job, self.case.step.name

    @property
    def seen(self) -> Outcome:
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome


class Trials:
    def __init__(self, trials: Iterable[Trial]) -> None:
        self._trials = {trial.case: trial for trial in trials}

    def __getitem__(self, case: Case) -> Trial:
        assert case.scenario
        return self._trials[case]


Before = Callable[[Trial], Awaitable[None]]
"""What is to be done about a job that is queued and cannot be taken up yet."""


async def queue_held(harness: Harness) -> Any:
    """A connection that keeps every worker from taking up jobs until it is closed."""
    connection = await harness.connect()
    await connection.fetch("select pg_advisory_lock(hashtext('jobs.claim'))")
    return connection


async def prepared(harness: Harness, cases: Iterable[Case], *, pace: float = PACE) -> list[Trial]:
    """A site for each, in the state its job starts from; then the node is made slow."""
    await harness.node.work_at(0)
    wanted = [case for case in cases if case.kind.name in scenarios()]
    sites = await asyncio.gather(*(case.scenario.prepare(harness) for case in wanted))
    await harness.node.work_at(pace)
    return [Trial(case, site) for case, site in zip(wanted, sites, strict=True)]


async def started(harness: Harness, trials: Sequence[Trial], before: Before) -> None:
    """Starts every job, and lets them be taken up once `before` has seen to each."""
    queue = await queue_held(harness)
    try:
        for trial in trials:
            trial.before = await _row(harness, trial.site)
            trial.job = await trial.case.scenario.start(harness, trial.site)
            await before(trial)
    finally:
        queue.terminate()


async def _row(harness: Harness, site: Site) -> dict[str, Any]:
    rows = await harness.sql("select * from sites where id = $1", site.id)
    return dict(rows[0]) if rows else {}


async def caught(
    harness: Harness, cases: Iterable[Case], *, pace: float = PACE, before: Before | None = None
) -> list[Trial]:
    """Jobs of which each is under way in the step of its case, and stays there until it is let go."""
    trials = await prepared(harness, cases, pace=pace)

    async def hold(trial: Trial) -> None:
        if before is not None:
            await before(trial)
        if not trial.case.on_node:
            # The step writes this row first, whatever it does; nobody may while we have not made up our mind.
            trial.hold = await harness.connect()
            await trial.hold.execute("begin")
            await trial.hold.execute("insert into job_steps values ($1, $2)", *trial.place)

    await started(harness, trials, hold)
    on_node = [trial for trial in trials if trial.case.on_node]
    await harness.node.freeze({trial.place for trial in on_node})
    for trial in on_node:
        trial.pid = harness.node.frozen[trial.place]
    for trial in trials:
        if trial.hold is not None:
            await until(blocked, f"{trial.case} waits for us", harness, trial)
    return trials


async def blocked(harness: Harness, trial: Trial) -> list[Any]:
    """The connections that wait for the one that holds the step: their processes' ports."""
    return await harness.sql(
        "select client_port from pg_stat_activity where $1 = any(pg_blocking_pids(pid))",
        trial.hold.get_server_pid(),
    )


async def let_go(harness: Harness, *trials: Trial) -> None:
    for trial in trials:
        harness.node.thaw(trial.place)
        if trial.hold is not None:
            # Its server may have been killed, which the library notices in several ways.
            with suppress(
                asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError
            ):
                await trial.hold.execute("rollback")
            trial.hold.terminate()
            trial.hold = None


def halves(trials: Sequence[Trial]) -> tuple[Sequence[Trial], Sequence[Trial]]:
    """Some steps end while something is down, and some when it is back."""
    return trials[::2], trials[1::2]


async def watched(harness: Harness, trials: Sequence[Trial], *, bound: float = 90.0) -> Trials:
    """Every trial with its outcome, or with what kept it from one; one does not hide the others."""
    for trial in trials:
        try:
            await harness.ended(trial.job, bound=bound)
            trial.outcome = await observe(harness, trial.job)
        except AssertionError as error:
            trial.error, bound = error, 1.0
    await let_go(harness, *trials)
    return Trials(trials)


async def go_on(harness: Harness, trial: Trial) -> None:
    """The lock that a failed job had is free, and what it left can be worked with."""
    try:
        job = await trial.case.scenario.afterwards(harness, trial.site)
        await harness.ended(job)
        ((trial.following,),) = await harness.sql("select status from jobs where id = $1", job)
    except AssertionError as error:
        trial.error = error


async def observe(harness: Harness, job: str) -> Outcome:
    (row,) = await harness.sql("select * from jobs where id = $1", job)
    (site,) = await harness.sql("select * from sites where id = $1", row["site_id"])
    (environment,) = await harness.sql(
        "select * from environments where case when $2::text is null"
        " then site_id = $1 and type = 'production' else id = $2 end",
        row["site_id"],
        # A push is about production.
        None if row["type"] == "environment.push" else row["params"]["with"].get("environment"),
    )
    told = f"select type from events where job_id = $1 and {NOT_ON_THE_WAY} order by written"
    events = await harness.sql(told, job)
    control = await harness.sql("select step from job_steps where job_id = $1", job)
    live = site["mode"] == "live"
    return Outcome(
        status=row["status"],
        error=row["error"],
        result=row["result"],
        site=dict(site),
        environment=dict(environment),
        events=[event for (event,) in events],
        control={step for (step,) in control},
        node=harness.node.steps(job),
        hosts=await announced_hosts(harness, site, environment)
        if live
        else harness.node.hosts(environment["id"]),
        carried=harness.node.carries(environment["id"], live=live),
        said=await _said(harness, site["id"], environment["id"]),
        shows=await _shows(harness, environment),
    )


async def _shows(harness: Harness, environment: Mapping[str, Any]) -> int:
    """Which of the site's artifacts, by age; its one live deployment must be of the same."""
    release = environment["release"]
    live = await harness.sql(
        "select digest from deployments where env_id = $1 and status = 'live'", environment["id"]
    )
    assert [digest.removeprefix("sha256:") for (digest,) in live] == ([release] if release else [])
    rows = await harness.sql(
        "select digest from artifacts where site_id = $1 order by id", environment["site_id"]
    )
    names = [digest.removeprefix("sha256:") for (digest,) in rows]
    return names.index(release) + 1 if release else 0


async def _said(harness: Harness, site: str, environment: str) -> Said:
    configured = await harness.sql("select subject, settings from configurations where site_id = $1", site)
    settings = dict(configured)
    rows = await harness.sql("select rules from redirect_sets where site_id = $1", site)
    return Said(settings.get(site, {}), settings.get(environment, {}), rows[0]["rules"] if rows else [])
