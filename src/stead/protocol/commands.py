"""Messages between the control plane and a node: commands, cancellations, results, heartbeats.

A command is one step of a job, identified by (job, step). `epoch` counts the control plane's attempts at that
step; a node answers an attempt with an older epoch than the latest only with `stale`.

A node may be older than the control plane. A command that it cannot read is refused with `OUTDATED`, so every
version of an order begins with the fields of `OrderHead`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from stead.protocol.sign_ins import Identifier
from stead.protocol.work.base import WorkStruct
from stead.protocol.work.kinds import Work, WorkResult

OUTDATED = "node.outdated"
"""The error code of a node that does not understand a command."""

MAX_TAG = 64
"""How much of an unknown name is quoted."""

MAX_REPORTED = 500
"""How many environments, versions or mails one report of a node names."""

Moments = Annotated[dict[str, float], Meta(max_length=MAX_REPORTED)]
"""When something happened, by what it happened to, in seconds since 1970."""

DriverSetName = Literal["live", "simulator"]
"""Which drivers do the work: the real ones, or the simulator that serves test keys."""


class Command(WorkStruct, frozen=True, tag="command"):
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
    sealed: bytes = b""
    """The secrets of the work, sealed to the node's public key (`sealed_work.py`)."""


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop this step if it is running. The node reports `cancelled` once the step's processes have ended."""

    node: str
    job: str
    step: str
    epoch: int


Order = Command | Cancel


class WorkHead(Struct, frozen=True):
    type: str


class OrderHead(Struct, frozen=True):
    """What a node reads of an order of a newer version."""

    node: str
    job: str
    step: str
    epoch: int
    type: str
    work: WorkHead | None = None

    @property
    def subject(self) -> str:
        """The kind of work or of order that is not understood, for a message."""
        return (self.work.type if self.work else self.type)[:MAX_TAG]


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
    """What a node says about itself. Its region, and whether it may build, are the operator's decision: the
    control plane knows them from the enrolment."""

    node: str
    region: str
    """As set on the node. Only for the log, if it is not the region of its enrolment."""
    capacity: int
    """How many environments it accepts."""
    carrying: int
    version: Annotated[str, Meta(pattern=r"^[ -~]{0,64}\Z")]
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
    short_of_space: bool = False
    """It refuses new releases and builds until its disk has more free space."""
    room_mb: int | None = None
    """How much more disk space it can promise to sites; None if it makes no promises."""
    records_skipped: int = 0
    """How many edge records do not fit in the memory of its nginx."""


class Activity(Struct, frozen=True):
    """When environments of a node were last visited, in seconds since 1970. Nodes repeat each time for a
    while, so a worker that missed a message loses nothing."""

    node: str
    visited: Moments
    limited: Moments = {}
    """When a request of a version of a function was last refused, because there were too many."""
    changed: Moments = {}
    """When plugins or themes of an environment were last changed in WordPress itself."""


class CapturedMail(Struct, frozen=True):
    """A mail that a clone tried to send."""

    key: str
    """Unique on its node."""
    environment: str
    captured_at: float
    """In seconds since 1970."""
    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str
    size: int
    """Of the whole message, in bytes."""


class MailReport(Struct, frozen=True):
    """What clones on a node tried to send. Nodes repeat each mail for a while, as for visits."""

    node: str
    mails: Annotated[tuple[CapturedMail, ...], Meta(max_length=MAX_REPORTED)]


class SessionReport(Struct, frozen=True):
    """Somebody has entered an environment over SSH."""

    node: Identifier
    session: Identifier
    """Its name in the log of the node."""
    environment: Identifier
    account: Identifier
    credential: Identifier
    """The id of the key or of the password."""
    address: Annotated[str, Meta(pattern=r"^[0-9A-Za-z:.%_-]{0,64}\Z")]
    client: Annotated[str, Meta(pattern=r"^[ -~]{0,100}\Z")]
    """The name and version of the client's program, as it claims."""
    entered_at: Annotated[int, Meta(ge=0, le=10**14)] = 0
    """In milliseconds since 1970, by the clock of the node."""


class OutputLine(Struct, frozen=True):
    """One line of a job's output; secrets were masked on the node."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"


encode = msgspec.msgpack.encode
_orders = msgspec.msgpack.Decoder(Order)
_heads = msgspec.msgpack.Decoder(OrderHead)
_results = msgspec.msgpack.Decoder(Result)
_heartbeats = msgspec.msgpack.Decoder(Heartbeat)
_activities = msgspec.msgpack.Decoder(Activity)
_mail_reports = msgspec.msgpack.Decoder(MailReport)
_sessions = msgspec.msgpack.Decoder(SessionReport)
_lines = msgspec.msgpack.Decoder(OutputLine)

read_order = _orders.decode
read_head = _heads.decode
read_session = _sessions.decode
read_heartbeat = _heartbeats.decode
read_activity = _activities.decode
read_mail_report = _mail_reports.decode
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
