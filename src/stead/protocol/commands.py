"""Messages between the control plane and a node: commands, cancellations, results, heartbeats.

A command is one step of a job, identified by (job, step). `epoch` counts the control plane's attempts at that
step; a node answers an attempt with an older epoch than the latest only with `stale`.
"""

from typing import Literal

import msgspec
from msgspec import Struct

from stead.protocol.work import Work, WorkResult

DriverSetName = Literal["live", "simulator"]
"""Which drivers do the work: the real ones, or the simulator that serves test keys."""


class Command(Struct, frozen=True, tag="command"):
    node: str
    job: str
    step: str
    epoch: int
    site: str
    environment: str
    driver: DriverSetName
    work: Work
    seconds: float = 300.0
    """How long the work may take before the node stops it."""


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop this step if it is running. The node reports `cancelled` once the step's processes have ended."""

    node: str
    job: str
    step: str
    epoch: int


Order = Command | Cancel

Outcome = Literal["done", "refused", "cancelled", "stale"]


class Result(Struct, frozen=True):
    """`refused` is final: repeating the command does not help. `stale` answers an outdated epoch."""

    node: str
    job: str
    step: str
    epoch: int
    outcome: Outcome
    code: str | None = None
    reason: str | None = None
    value: WorkResult | None = None
    """What the work returned, of the `result_type` of its kind."""


class Heartbeat(Struct, frozen=True):
    node: str
    region: str
    capacity: int
    """How many environments it accepts."""
    carrying: int
    version: str
    running: tuple[str, ...] = ()
    """Running steps, as `job/step`."""
    edge_address: str = ""
    """`host:port` where the other edges of the region reach this node's edge."""
    builders: tuple[str, ...] = ()
    """The builders that it has."""
    work: tuple[str, ...] = ()
    """The tags of the kinds of work that its live drivers support."""
    runtimes: tuple[str, ...] = ()
    """The runtimes that its live drivers support."""


class Activity(Struct, frozen=True):
    """When environments of a node were last visited, in seconds since 1970. Nodes repeat each time for a
    while, so a worker that missed a message loses nothing."""

    node: str
    visited: dict[str, float]


class OutputLine(Struct, frozen=True):
    """One line of a job's output; secrets were masked on the node."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"


encode = msgspec.msgpack.encode
_orders = msgspec.msgpack.Decoder(Order)
_results = msgspec.msgpack.Decoder(Result)
_heartbeats = msgspec.msgpack.Decoder(Heartbeat)
_activities = msgspec.msgpack.Decoder(Activity)
_lines = msgspec.msgpack.Decoder(OutputLine)

read_order = _orders.decode
read_heartbeat = _heartbeats.decode
read_activity = _activities.decode
read_line = _lines.decode


def read_result(data: bytes) -> Result:
    """A malformed value is dropped: it must not hide the outcome, which the control plane waits for."""
    try:
        return _results.decode(data)
    except msgspec.ValidationError:
        return msgspec.convert(msgspec.msgpack.decode(data) | {"value": None}, Result)


def result_of(work: Work, result: Result) -> WorkResult | None:
    """What the work returned; None when it is not of the type that its kind declares."""
    kind = type(work).result_type
    return result.value if kind is not None and isinstance(result.value, kind) else None


def result_kind(job: str, step: str) -> str:
    """The last word of the subject that a step's result is reported under."""
    return f"{job}-{step}"
