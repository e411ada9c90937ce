"""Work that serves functions."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from stead.protocol.work.base import NodeWork, WorkStruct
from stead.protocol.work.releases import EnsureRelease

FunctionId = Annotated[str, Meta(pattern=r"^fn_[0-9a-z]{26}$(?!\n)")]
FunctionVersionId = Annotated[str, Meta(pattern=r"^fnv_[0-9a-z]{26}$(?!\n)")]
BindingKind = Literal["kv", "coord", "fetch", "service"]


class FunctionBinding(WorkStruct, frozen=True):
    """What a function reaches under a name."""

    kind: BindingKind
    name: str
    namespace: str = ""
    """Of `kv` and `coord`."""
    allow: tuple[str, ...] = ()
    """The hosts of `fetch`: `host`, `*.host`, `host:port`."""
    target: str = ""
    """The function of the same site that `service` calls."""


class FunctionLimits(WorkStruct, frozen=True):
    memory_mb: Annotated[int, Meta(ge=8, le=512)] = 64
    wall_ms: Annotated[int, Meta(ge=10, le=30_000)] = 1000
    request_bytes: Annotated[int, Meta(ge=0, le=10 << 20)] = 1 << 20
    requests_per_second: Annotated[int, Meta(ge=1, le=10_000)] = 100


class EnsureFunction(NodeWork, frozen=True, tag="ensure_function"):
    """The version of a function is on this node: verified, compiled, and a process of it has started. The
    edge may send requests to it. The latest earlier versions of the function stay."""

    unsupported_code = "function.unsupported"
    has_own_limit = True
    secret_fields: ClassVar[tuple[str, ...]] = ("secrets",)

    function: FunctionId
    version: FunctionVersionId
    release: EnsureRelease
    limits: FunctionLimits = FunctionLimits()
    fresh: bool = False
    """Whether every request gets an instance of its own."""
    variables: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    bindings: tuple[FunctionBinding, ...] = ()
    active: bool = False
    """Whether other functions of the site call this version from now on."""
    tenant: str = ""
    """Who owns the site: the tenants of a node share its processes, and take turns with compiling."""


class RemoveFunction(NodeWork, frozen=True, tag="remove_function"):
    """No version of the function is on this node."""

    unsupported_code = "function.unsupported"

    function: FunctionId
