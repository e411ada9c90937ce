"""A kind of job, declared once: its type, parameters, lock, time limit, result keys and steps.

    DEPLOY = JobKind(
        "deployment.deploy", params=DeploySite, resource="deployment", lock="environment",
        limit=timedelta(minutes=10), results={"url"}, steps=[
            control("place", place, undo=unplace),
            ask("environment", environment_wanted, undo=environment_unwanted),
            tell("route", served, undo=withdrawn),
        ], failed=mark_failed)

The row is the truth that the API shows; a workflow runs it. Steps are control steps, a transaction each;
commands to the node that carries the environment; or announcements, which end when every edge of the region
goes by them. What was begun is undone in reverse when a step refuses, the job is cancelled, or its time is
up.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

import msgspec

from stead.control.engines.object_store import Objects
from stead.control.engines.postgres import Database, Tx
from stead.control.sealing import Sealer
from stead.protocol.commands import DriverSetName
from stead.protocol.edge import Record
from stead.protocol.work import Work
from stead.shared.errors import Conflict, QuotaExceeded, ServerFault

RESULT_KEYS = frozenset(
    {
        *("artifact_id", "build_id", "snapshot_id", "deployment_id", "scan_id", "release_id", "digest"),
        *("commit", "ref", "branch", "url", "env_id", "key_id"),
        *("download_url", "expires_at", "size_bytes"),
    }
)
MOST_WAITING = 100

P = TypeVar("P", bound=msgspec.Struct)
Results = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Job(Generic[P]):
    """A job as its steps see it."""

    id: str
    site_id: str
    env_id: str | None
    params: P
    taken_up_at: datetime
    begun: bool = True
    """False for one that nobody had taken up."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A node command before it has its place in a job."""

    node: str
    environment: str
    driver: DriverSetName
    work: Work


@dataclass(frozen=True, slots=True)
class Announcement:
    """What the edges of a region are to know from now on; a key without a record they forget."""

    region: str
    records: Mapping[str, Record | None]


Control = Callable[[Tx, Job[Any]], Awaitable[Results | None]]
Ask = Callable[[Tx, Job[Any]], Awaitable[Errand | None]]
"""What to ask of which node; None when there is nothing to ask."""
Heard = Callable[[Tx, Job[Any], Any], Awaitable[None]]
"""Records what the node returned, of the `result_type` of the work, or None without one. Safe to repeat."""
Tell = Callable[[Tx, Job[Any]], Awaitable[Announcement | None]]
"""What to announce, and whatever must be written down with it; safe to repeat."""


@dataclass(frozen=True)
class Desk:
    """What a worker has at hand."""

    database: Database
    objects: Objects
    sealer: Sealer


Labour = Callable[[Desk, Job[Any]], Awaitable[None]]
"""Work of the worker itself that takes longer than a transaction may; safe to repeat."""


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    control: Control | None = None
    ask: Ask | None = None
    heard: Heard | None = None
    tell: Tell | None = None
    labour: Labour | None = None
    undo_control: Control | None = None
    undo_ask: Ask | None = None
    undo_tell: Tell | None = None

    @property
    def is_transaction(self) -> bool:
        """Short, and either done or not; the others wait for somebody else."""
        return self.control is not None

    @property
    def has_undo(self) -> bool:
        return (self.undo_control or self.undo_ask or self.undo_tell) is not None


def control(name: str, do: Control, *, undo: Control | None = None) -> Step:
    return Step(name, control=do, undo_control=undo)


def ask(name: str, do: Ask, *, heard: Heard | None = None, undo: Ask | None = None) -> Step:
    return Step(name, ask=do, heard=heard, undo_ask=undo)


def tell(name: str, do: Tell, *, undo: Tell | None = None) -> Step:
    return Step(name, tell=do, undo_tell=undo)


def labour(name: str, do: Labour) -> Step:
    return Step(name, labour=do)


class Refused(Exception):
    """A step will not succeed however often it is tried."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class NotYet(Exception):
    """A step cannot succeed now but may soon: it is tried again."""


Failed = Callable[[Tx, Job[Any], str], Awaitable[None]]
"""Writes down, once everything is undone, that the job failed and why."""

KINDS: "dict[str, JobKind[Any]]" = {}


class JobKind(Generic[P]):
    def __init__(
        self,
        type_: str,
        *,
        params: type[P],
        resource: str,
        lock: Literal["site", "environment"],
        limit: timedelta,
        steps: Sequence[Step],
        failed: Failed,
        results: Collection[str] = (),
        variant: str = "",
    ) -> None:
        names = [step.name for step in steps]
        if len(set(names)) != len(names) or not set(results) <= RESULT_KEYS:
            raise TypeError(f"{type_}: step names are unique, and only some keys may be in a result")
        self.type, self.params, self.resource, self.lock = type_, params, resource, lock
        self.limit, self.steps, self.failed = limit, {step.name: step for step in steps}, failed
        self.results = frozenset(results)
        self.name = f"{type_}/{variant}" if variant else type_
        if self.name in KINDS:
            raise TypeError(f"two kinds of job are called {self.name}")
        KINDS[self.name] = self

    def read(self, row: "JobRow") -> Job[P]:
        params = msgspec.convert(row.params["with"], self.params)
        taken_up_at = row.dispatched_at or row.created_at
        return Job(row.id, row.site_id, row.env_id, params, taken_up_at, begun=row.dispatched_at is not None)


@dataclass(frozen=True, slots=True)
class JobRow:
    id: str
    type: str
    status: str
    site_id: str
    env_id: str | None
    params: dict[str, Any]
    created_at: datetime
    dispatched_at: datetime | None

    @property
    def kind(self) -> JobKind[Any]:
        return KINDS[self.params["kind"]]


class JobsWaiting(QuotaExceeded):
    code = "quota.jobs"
    message = "{waiting} jobs of this owner are already waiting."
    remedy = "Wait until some of them have ended."


class JobCancelled(Conflict):
    code = "job.cancelled"
    message = "The job was cancelled."
    remedy = "Whatever it had begun was undone; start it again when you want to."


class JobTimeout(ServerFault):
    code = "job.timeout"
    message = "The job took longer than its limit of {limit}."
    remedy = "Whatever it had begun was undone. Its output tells how far it came; try again."


class JobLost(ServerFault):
    code = "job.lost"
    message = "The job's execution was lost."
    remedy = "Try again; if it goes on, send us the job's id."


class DeployUnhealthy(Conflict):
    code = "deploy.unhealthy"
    message = "The site did not answer as it should: {reason}"
    remedy = "What was served before is still served. Look at the job's output, mend, and deploy again."


class EdgeUnreachable(ServerFault):
    status = 503
    code = "edge.unreachable"
    message = "The change did not reach every edge of the region in time: {nodes}."
    remedy = "It was undone. Try again; if it goes on, the operator of the platform has to look at that node."


class NoNode(ServerFault):
    status = 503
    code = "node.unavailable"
    message = "No node of the region {region} has room and is up."
    remedy = "Try another region, or again later."
