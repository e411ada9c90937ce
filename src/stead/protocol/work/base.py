"""What every kind of work has."""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from stead.shared.runtimes import Runtime


class WorkStruct(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Part of a command to a node."""


class NodeWork(WorkStruct, frozen=True):
    """What every kind of work declares. Its tag is its name in messages, logs and heartbeats."""

    result_type: ClassVar[type[Struct] | None] = None
    """What a node returns when the work is done; None when there is nothing to return."""
    unsupported_code: ClassVar[str] = "work.unsupported"
    """The error code of a node that has no driver for it."""
    has_own_limit: ClassVar[bool] = False
    """Whether its driver limits how many run at the same time. Such work may take long, and waits without
    taking the place of other work."""

    @property
    def variant(self) -> str:
        """The runtime or builder that must do it; empty when the kind of work has no variants."""
        return ""

    @property
    def waits_elsewhere(self) -> bool:
        """Whether it takes none of the places that most work shares."""
        return self.has_own_limit


def tag_of(kind: type[NodeWork]) -> str:
    return str(kind.__struct_config__.tag)


class RuntimeWork(NodeWork, frozen=True):
    """Work that only the driver of one runtime can do."""

    unsupported_code = "runtime.unsupported"

    runtime: Runtime

    @property
    def variant(self) -> str:
        return self.runtime


Amount = Annotated[int, Meta(ge=0, le=10**15)]
