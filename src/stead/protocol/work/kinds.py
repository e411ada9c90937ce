"""All kinds of work, and all results. A new kind is a line here."""

from collections.abc import Collection

from stead.protocol.work.access import RunCommand, SetAccess, SetPassword
from stead.protocol.work.base import NodeWork, tag_of
from stead.protocol.work.builds import Build, BuildResult
from stead.protocol.work.cms import (
    ChangeComponents,
    ChangeContent,
    ComponentsChanged,
    DatabaseExported,
    ExportDatabase,
)
from stead.protocol.work.functions import EnsureFunction, RemoveFunction
from stead.protocol.work.hosting import (
    CheckPhp,
    DiscardDataset,
    EnsureEnvironment,
    EnsureRoute,
    PrepareDataset,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    SuspendEnvironment,
    SwitchPhp,
)
from stead.protocol.work.releases import EnsureRelease
from stead.protocol.work.scanning import (
    QuarantineFiles,
    QuarantineReport,
    RestoreFile,
    ScanEnvironment,
    ScanReport,
)
from stead.protocol.work.snapshots import (
    RestoreSnapshot,
    SnapshotTaken,
    SnapshotVerified,
    TakeSnapshot,
    VerifySnapshot,
)

Work = (
    EnsureEnvironment
    | RemoveEnvironment
    | RestartEnvironment
    | SuspendEnvironment
    | PrepareDataset
    | DiscardDataset
    | TakeSnapshot
    | VerifySnapshot
    | RestoreSnapshot
    | ScanEnvironment
    | QuarantineFiles
    | RestoreFile
    | CheckPhp
    | SwitchPhp
    | RunCommand
    | SetAccess
    | SetPassword
    | ChangeComponents
    | ChangeContent
    | ExportDatabase
    | EnsureFunction
    | RemoveFunction
    | EnsureRoute
    | RemoveRoute
    | Probe
    | Build
    | EnsureRelease
)


WorkResult = (
    BuildResult
    | SnapshotTaken
    | SnapshotVerified
    | ComponentsChanged
    | DatabaseExported
    | ScanReport
    | QuarantineReport
)


HOSTING: tuple[type[NodeWork], ...] = (
    EnsureEnvironment,
    RemoveEnvironment,
    RestartEnvironment,
    EnsureRelease,
    Probe,
)
"""What a node must support to host environments."""


def supports_hosting(work: Collection[str]) -> bool:
    """Whether a node that supports these kinds of work can host environments."""
    return {tag_of(kind) for kind in HOSTING} <= set(work)
