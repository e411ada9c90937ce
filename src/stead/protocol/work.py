"""The kinds of work that a node can do. Each is one class here, and a member of `Work` at the end.

Work names an end state, so doing it twice has the same effect as doing it once. A kind of work that returns
something names the type of its result (`result_type`), which is a member of `WorkResult`.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from stead.shared.runtimes import Runtime

Builder = Literal["static"]
"""What a builder makes."""


class NodeWork(Struct, frozen=True):
    """What every kind of work declares. Its tag is its name in messages, logs and heartbeats."""

    result_type: ClassVar[type[Struct] | None] = None
    """What a node returns when the work is done; None when there is nothing to return."""
    unsupported_code: ClassVar[str] = "work.unsupported"
    """The error code of a node that has no driver for it."""

    @property
    def variant(self) -> str:
        """The runtime or builder that must do it; empty when the kind of work has no variants."""
        return ""


def tag_of(kind: type[NodeWork]) -> str:
    return str(kind.__struct_config__.tag)


class RuntimeWork(NodeWork, frozen=True):
    """Work that only the driver of one runtime can do."""

    unsupported_code = "runtime.unsupported"

    runtime: Runtime

    @property
    def variant(self) -> str:
        return self.runtime


class LayerDownload(Struct, frozen=True):
    digest: str
    url: str
    """Where to download it; signed by the control plane."""


class EnsureRelease(RuntimeWork, frozen=True, tag="ensure_release"):
    """The artifact is on this node, verified, as the release `release_of(digest)`. The environment's latest
    earlier releases stay, and so does every release that an edge record names."""

    digest: str
    manifest: bytes
    config: bytes
    envelope: bytes
    """The provenance of the artifact, signed by one of `keys`."""
    keys: tuple[bytes, ...]
    """Raw Ed25519 public keys of the installation."""
    layers: tuple[LayerDownload, ...]


class EnsureEnvironment(RuntimeWork, frozen=True, tag="ensure_environment"):
    """Everything the environment needs to run is on this node, with a page to serve."""

    release: EnsureRelease | None = None
    """The release that the environment serves, in case this node does not have it."""


class RemoveEnvironment(NodeWork, frozen=True, tag="remove_environment"):
    """Nothing of the environment is on this node, whatever its runtime was."""


class RestartEnvironment(RuntimeWork, frozen=True, tag="restart_environment"):
    """The processes of the environment have been replaced by new ones."""


class EnsureRoute(NodeWork, frozen=True, tag="ensure_route"):
    """The environment answers exactly these hosts. Only for the simulator: real edges receive their routes
    through the feed."""

    unsupported_code = "route.unsupported"

    hosts: tuple[str, ...]


class RemoveRoute(NodeWork, frozen=True, tag="remove_route"):
    """The environment answers no host. Only for the simulator."""

    unsupported_code = "route.unsupported"


class Probe(NodeWork, frozen=True, tag="probe"):
    """The environment answers requests for the host, sent over HTTP through the edge. Otherwise the work is
    refused with the reason. Probes pass the environment's address allowlist."""

    host: str
    path: str = "/"
    status: int | None = None
    """The expected status; None accepts any success or redirect."""
    release: str = ""
    """Probe this release as if the environment served it. Visitors do not see it yet."""


class GitSource(Struct, frozen=True, tag="git"):
    """A commit of a repository: the given one, or else the head of the ref."""

    url: str
    ref: str
    commit: str = ""
    key: str = ""
    """The private key for a repository over ssh. Only the fetch uses it; the build never sees it."""


class ArchiveSource(Struct, frozen=True, tag="archive"):
    """A tar, tar.gz or zip."""

    url: str
    ours: bool = False
    """In the installation's object store, by a signed URL. Any other address must be public."""


class BuildResult(Struct, frozen=True, tag="build"):
    """What a node reports about a build. The control plane verifies all of it that it can."""

    digest: str
    size: int
    diff_id: str
    files: int
    bytes: int
    commit: str = ""
    ref: str = ""
    author: str = ""
    message: str = ""


class Build(NodeWork, frozen=True, tag="build"):
    """The source is built in a sandbox, and the packed output is uploaded to `layer_url`."""

    result_type = BuildResult
    unsupported_code = "build.unavailable"

    builder: Builder
    source: GitSource | ArchiveSource
    layer_url: str
    """Where to upload the layer; signed by the control plane for this object only."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables of the build; their values are masked in its output."""

    @property
    def variant(self) -> str:
        return self.builder


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

WorkResult = BuildResult


def release_of(digest: str) -> str:
    """The name of an artifact's directory on a node, and in the records of the edge."""
    return digest.removeprefix("sha256:")
