"""What the control plane asks of a node, and what a node says back.

A command names an end state, so carrying it out twice is carrying it out once. Its place in a job is (job,
step); `epoch` counts how often the control plane has asked for that step, and an older asker is refused.
"""

from typing import Literal

import msgspec
from msgspec import Struct

Driver = Literal["live", "sandbox"]
"""Which drivers carry it out: the real ones, or the simulation that serves test keys."""

Runtime = Literal["cms", "static", "wasm"]


class Layer(Struct, frozen=True):
    digest: str
    url: str
    """Where it can be had, signed by the control plane."""


class EnsureRelease(Struct, frozen=True, tag="ensure_release"):
    """The artifact is on this node, verified, as the release `release_of(digest)`; what the environment had
    before stays, the newest of them, and so does whatever an edge is told to serve."""

    runtime: Runtime
    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    """Who built it from what; signed by one of `keys`."""
    keys: tuple[bytes, ...]
    """Raw Ed25519 public keys of the installation."""
    layers: tuple[Layer, ...]


class EnsureEnvironment(Struct, frozen=True, tag="ensure_environment"):
    """Whatever the environment needs to run is on this node, with something to show."""

    runtime: Runtime
    release: EnsureRelease | None = None
    """What it shows, should this node not have it, or not any more."""


class RemoveEnvironment(Struct, frozen=True, tag="remove_environment"):
    """Nothing of the environment is on this node."""


class RestartEnvironment(Struct, frozen=True, tag="restart_environment"):
    """The environment's processes are new ones."""

    runtime: Runtime


class EnsureRoute(Struct, frozen=True, tag="ensure_route"):
    """These hosts, and no others, are answered by the environment. For the sandbox alone: real edges hear of
    routes by their feed."""

    hosts: tuple[str, ...]


class RemoveRoute(Struct, frozen=True, tag="remove_route"):
    """No host is answered by the environment. For the sandbox alone."""


class Probe(Struct, frozen=True, tag="probe"):
    """The host is answered by the environment, asked over HTTP through the edge; else refused, with the
    reason. A visitor whose address is not allowed would not get this far: the node itself always does."""

    host: str
    path: str = "/"
    status: int | None = None
    """What the answer must be; any of success or a redirect unless it is said."""
    release: str = ""
    """Asked as if the environment showed this release, which visitors do not see yet."""


class GitSource(Struct, frozen=True, tag="git"):
    """A commit of a repository: the named one, or else where the ref stands."""

    url: str
    ref: str
    commit: str = ""
    key: str = ""
    """The private key for a repository over ssh; for the fetch alone, no build sees it."""


class ArchiveSource(Struct, frozen=True, tag="archive"):
    """A tar, tar.gz or zip."""

    url: str
    ours: bool = False
    """From the object store, by a URL we signed; any other address must be a public one."""


class Build(Struct, frozen=True, tag="build"):
    """The source is built in a sandbox, and what came out is at `layer_url`, packed. Its facts are those of
    `BuildFacts`."""

    builder: Literal["static"]
    source: GitSource | ArchiveSource
    layer_url: str
    """Where the layer is put, signed by the control plane for this one thing."""
    variables: tuple[tuple[str, str], ...] = ()
    """Names and values that the build sees; the values are masked wherever they would be printed."""


class BuildFacts(Struct, frozen=True):
    """What a node says of a build. The control plane believes none of it that it can see for itself."""

    digest: str
    size: int
    diff_id: str
    files: int
    bytes: int
    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""


Work = (
    EnsureEnvironment
    | RemoveEnvironment
    | RestartEnvironment
    | EnsureRoute
    | RemoveRoute
    | Probe
    | Build
    | EnsureRelease
)

Facts = dict[str, str | int]
"""What a node has to say of work that is done."""


class Command(Struct, frozen=True, tag="command"):
    node: str
    job: str
    step: str
    epoch: int
    site: str
    environment: str
    driver: Driver
    work: Work
    seconds: float = 300.0
    """How long it may take before the node gives it up."""


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop this step if it is running: its processes are gone before the node says `cancelled`."""

    node: str
    job: str
    step: str
    epoch: int


Order = Command | Cancel

Outcome = Literal["done", "refused", "cancelled", "stale"]


class Result(Struct, frozen=True):
    """`refused` is final: asking again will not help. An older epoch is only ever answered `stale`."""

    node: str
    job: str
    step: str
    epoch: int
    outcome: Outcome
    code: str | None = None
    reason: str | None = None
    facts: Facts = {}


class Heartbeat(Struct, frozen=True):
    node: str
    region: str
    capacity: int
    """How many environments it is willing to carry."""
    carrying: int
    version: str
    running: tuple[str, ...] = ()
    """Steps under way, as `job/step`."""
    edge_address: str = ""
    """`host:port` where the other edges of the region find this one's."""
    builders: tuple[str, ...] = ()
    """What it can build."""


class Activity(Struct, frozen=True):
    """When environments of a node were last visited, in seconds since 1970; said again for a while, so that
    nobody need keep it."""

    node: str
    visited: dict[str, float]


class Line(Struct, frozen=True):
    """One line of a job's output, masked before it left the node."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"


encode = msgspec.msgpack.encode
_orders = msgspec.msgpack.Decoder(Order)
_results = msgspec.msgpack.Decoder(Result)
_heartbeats = msgspec.msgpack.Decoder(Heartbeat)
_activities = msgspec.msgpack.Decoder(Activity)
_lines = msgspec.msgpack.Decoder(Line)

read_order = _orders.decode
read_result = _results.decode
read_heartbeat = _heartbeats.decode
read_activity = _activities.decode
read_line = _lines.decode


def release_of(digest: str) -> str:
    """The name of an artifact's directory on a node, and in the records of the edge."""
    return digest.removeprefix("sha256:")


def result_kind(job: str, step: str) -> str:
    """The last word of the subject that a step's result is reported under."""
    return f"{job}-{step}"
