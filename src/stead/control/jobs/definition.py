"""The steps of a kind of job, declared once, each next to its undo.

    DEPLOY = Workflow(jobs.DEPLOY, steps=[
        control_step("place", place, undo=unplace),
        node_step("environment", ensure_environment, undo=remove_environment),
        announce_step("route", serve, undo=withdraw),
    ], failed=mark_failed)

There are four kinds of step: a control step is one transaction; a node step is a command to the node that
hosts the environment; an announcement ends when every edge of the region applies it; a long step is work of
the worker itself that takes longer than a transaction may. When a step refuses, the job is cancelled, or its
time limit is reached, the steps that had begun are undone in reverse order.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database, Tx
from stead.control.jobs.kinds import Job, JobKind, JobRow, P
from stead.control.jobs.repository_access import RepositoryGateway
from stead.control.sealing import Sealer
from stead.protocol.commands import DriverSetName
from stead.protocol.edge_records import EdgeRecord
from stead.protocol.work.kinds import Work

Results = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """A command to a node, before it is given its position in a job."""

    node: str
    environment: str
    driver: DriverSetName
    work: Work


@dataclass(frozen=True, slots=True)
class Announcement:
    """Records that the edges of a region must apply. A key without a record is removed."""

    region: str
    records: Mapping[str, EdgeRecord | None]
    version: int | None = None
    """Of two announcements of a site, the one with the higher version is newer."""


@dataclass(frozen=True)
class WorkerContext:
    """What a long step may use."""

    database: Database
    objects: ObjectStore
    sealer: Sealer
    repositories: RepositoryGateway | None
    """None if the installation has no backups."""


ControlAction = Callable[[Tx, Job[Any]], Awaitable[Results | None]]
CommandBuilder = Callable[[Tx, Job[Any]], Awaitable[NodeCommand | Sequence[NodeCommand] | None]]
"""Builds the command for the node; None when there is nothing to do. Several commands, each for another
environment, run one after the other."""
ResultHandler = Callable[[Tx, Job[Any], Any], Awaitable[None]]
"""Stores what the node returned: the `result_type` of the work, or None. Must be safe to repeat."""
RefusalHandler = Callable[[Tx, Job[Any], "Refused"], Awaitable[bool]]
"""Whether the job goes on although the node has refused the command. Must be safe to repeat."""
AnnouncementBuilder = Callable[[Tx, Job[Any]], Awaitable[Announcement | None]]
"""Builds the announcement and writes what belongs to it. Must be safe to repeat."""
LongAction = Callable[[WorkerContext, Job[Any]], Awaitable[None]]
"""Work of the worker itself, outside a transaction. Must be safe to repeat."""
FailureHandler = Callable[[Tx, Job[Any], str], Awaitable[None]]
"""Records that the job failed and why, after every step was undone."""


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    control: ControlAction | None = None
    command: CommandBuilder | None = None
    on_result: ResultHandler | None = None
    on_refusal: RefusalHandler | None = None
    announce: AnnouncementBuilder | None = None
    long_action: LongAction | None = None
    undo_control: ControlAction | None = None
    undo_command: CommandBuilder | None = None
    undo_announce: AnnouncementBuilder | None = None

    @property
    def is_transaction(self) -> bool:
        """A transaction is short and either happened or did not. Every other step waits for something."""
        return self.control is not None

    @property
    def has_undo(self) -> bool:
        return (self.undo_control or self.undo_command or self.undo_announce) is not None


def control_step(name: str, do: ControlAction, *, undo: ControlAction | None = None) -> Step:
    return Step(name, control=do, undo_control=undo)


def node_step(
    name: str,
    do: CommandBuilder,
    *,
    on_result: ResultHandler | None = None,
    on_refusal: RefusalHandler | None = None,
    undo: CommandBuilder | None = None,
) -> Step:
    return Step(name, command=do, on_result=on_result, on_refusal=on_refusal, undo_command=undo)


def announce_step(name: str, do: AnnouncementBuilder, *, undo: AnnouncementBuilder | None = None) -> Step:
    return Step(name, announce=do, undo_announce=undo)


def long_step(name: str, do: LongAction) -> Step:
    return Step(name, long_action=do)


class Refused(Exception):
    """A step will not succeed however often it is retried."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class NotYet(Exception):
    """A step cannot succeed now but may succeed soon: it is retried."""


async def record_nothing(_tx: Tx, _job: Job[Any], _reason: str) -> None:
    """The failure handler of kinds that record nothing: the steps were undone, and the job has the reason."""


class Workflow(Generic[P]):
    """A kind of job with its steps."""

    def __init__(self, kind: JobKind[P], *, steps: Sequence[Step], failed: FailureHandler) -> None:
        names = [step.name for step in steps]
        if len(set(names)) != len(names):
            raise TypeError(f"{kind.name}: step names must be unique")
        self.kind, self.failed = kind, failed
        self.steps = {step.name: step for step in steps}

    @property
    def name(self) -> str:
        return self.kind.name

    def read(self, row: JobRow) -> Job[P]:
        return row.read(self.kind)


class WorkflowCatalog(Mapping[str, Workflow[Any]]):
    """Every workflow of the installation by the name of its kind."""

    def __init__(self, workflows: Iterable[Workflow[Any]]) -> None:
        self._by_name: dict[str, Workflow[Any]] = {}
        for workflow in workflows:
            if workflow.name in self._by_name:
                raise TypeError(f"two kinds of job are called {workflow.name}")
            self._by_name[workflow.name] = workflow

    def __getitem__(self, name: str) -> Workflow[Any]:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def of(self, row: JobRow) -> Workflow[Any]:
        return self._by_name[row.kind_name]

    def knows(self, row: JobRow) -> bool:
        """A kind that this worker does not know is left to the newer worker that queued it."""
        return row.kind_name in self._by_name
