"""What a version of a function is on this node."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

BindingKind = Literal["kv", "coord", "fetch", "service"]
VERSION = r"^fnv_[0-9a-z]{26}$"


class BoundResource(Struct, frozen=True, omit_defaults=True):
    """What a function reaches under a name."""

    kind: BindingKind
    name: str
    namespace: str = ""
    """Of `kv` and `coord`."""
    allow: tuple[str, ...] = ()
    """The hosts of `fetch`."""
    target: str = ""
    """The function that `service` calls."""


class FunctionSpec(Struct, frozen=True, omit_defaults=True):
    function: str
    version: Annotated[str, Meta(pattern=VERSION)]
    site: str
    environment: str
    release: str
    is_component: bool
    memory_mb: int
    wall_ms: int
    request_bytes: int
    fresh: bool = False
    """Whether every request gets an instance of its own."""
    variables: dict[str, str] = {}
    bindings: tuple[BoundResource, ...] = ()
    active: bool = False
    """Whether this is the version that other functions call."""
    deployed: int = 0
    """Grows with every deployment on this node."""
    tenant: str = ""
    """Who owns the site; empty for versions that were deployed before nodes were told."""

    @property
    def tenant_or_site(self) -> str:
        """Who has a share of the node."""
        return self.tenant or self.site

    def binding(self, kind: BindingKind, name: str) -> BoundResource | None:
        return next((each for each in self.bindings if (each.kind, each.name) == (kind, name)), None)


class FunctionSecrets(Struct, frozen=True):
    values: dict[str, str] = msgspec.field(default_factory=dict)
