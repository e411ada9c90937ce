"""What a snapshot is, what it says about its site, and what can go wrong. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct

from stead.control.http.modes import ModeBound
from stead.control.redirects.rules import RedirectRule
from stead.shared.errors import Conflict, NotFound, ServerFault
from stead.shared.ids import EnvironmentId, SiteId, SnapshotId
from stead.shared.runtimes import Runtime

SnapshotKind = Literal[
    "scheduled",
    "on_demand",
    "before_push",
    "before_restore",
    "before_switch",
    "before_update",
    "before_quarantine",
    "site_deleted",
]
SnapshotStatus = Literal["taking", "kept", "failed"]
BackupStatus = Literal["succeeded", "failed", "never"]

FULL_CHECK_AFTER = timedelta(days=6, hours=12)
"""A scheduled snapshot is verified completely if the last one that was is older: once a week, although a
night may begin a little earlier than the one a week before."""
MAY_BE_BROKEN: frozenset[SnapshotKind] = frozenset({"before_restore", "before_quarantine", "site_deleted"})
"""Snapshots of sites that may not answer: a broken site can be restored, and deleted. Their rows and files
are compared, but WordPress is not started."""


class SnapshotRelease(Struct, frozen=True):
    artifact_id: str
    digest: str
    ref: str | None
    commit: str | None


class SnapshotDocument(Struct, frozen=True):
    """What the control plane knows about an environment at the moment of a snapshot. It is stored with the
    files and rows, so that a snapshot says everything about its site. Secrets appear only by their names."""

    site_id: str
    domain: str
    env_id: str
    host: str
    """In the addresses that WordPress has stored."""
    runtime: Runtime
    php_version: str | None
    release: SnapshotRelease | None
    configuration: dict[str, dict[str, Any]]
    override: dict[str, dict[str, Any]]
    """The settings of the environment itself."""
    redirects: list[RedirectRule]
    secret_names: list[str]
    format: int = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: SnapshotId
    site_id: SiteId
    env_id: EnvironmentId
    kind: SnapshotKind
    status: SnapshotStatus
    runtime: Runtime
    artifact_id: str | None
    document: SnapshotDocument
    full_check: bool
    """Whether it is verified completely: WordPress is started, and the release is read."""
    restic_id: str | None
    manifest_digest: str | None
    size_bytes: int
    taken_at: datetime
    verified_at: datetime | None
    stored_at: datetime | None
    """When all its data was in the store."""


@dataclass(frozen=True, slots=True)
class VisibleSnapshot(ModeBound):
    """A snapshot of a site that the caller can see."""

    id: SnapshotId
    site_id: SiteId
    env_id: EnvironmentId


class SnapshotNotFound(NotFound):
    code = "snapshot.not_found"
    message = "The snapshot was not found."
    remedy = "List the snapshots of the site with `GET /v1/sites/{site_id}/snapshots`."


class BackupUnverified(Conflict):
    code = "backup.unverified"
    message = "The snapshot could not be verified, so nothing was changed: {reason}"
    remedy = (
        "Read the output of the job, fix what the message names, and try again. If the error persists,"
        " contact the operator of the platform."
    )


class BackupDamaged(Conflict):
    code = "backup.damaged"
    message = "The snapshot {snapshot} is damaged, so nothing was changed."
    remedy = "Restore another snapshot. Other snapshots of the site are not affected."


class BackupInterrupted(ServerFault):
    status = 503
    code = "backup.interrupted"
    message = "The snapshot was interrupted, and nothing was changed: {reason}"
    remedy = "Try again. If the error persists, contact the operator of the platform."


class BackupContentUnsupported(Conflict):
    code = "backup.unsupported_content"
    message = "The content of the site cannot be stored in a snapshot: {reason}"
    remedy = (
        "Remove what the message names, for example directories in too many levels, sparse files that are"
        " larger than the disk, or views that cannot be used, and try again. The site can be deleted"
        " nevertheless."
    )


class BackupStoreUnavailable(ServerFault):
    status = 503
    code = "backup.store_unavailable"
    message = "The store of the backups cannot be reached, so nothing was changed."
    remedy = "Try again later. If the error persists, contact the operator of the platform."


class BackupDiskFull(ServerFault):
    status = 503
    code = "backup.disk_full"
    message = "There is not enough disk space for the snapshot, so nothing was changed."
    remedy = "Remove files that the site does not need, or choose a larger plan, and try again."


class BackupPasswordWrong(ServerFault):
    code = "backup.password_wrong"
    message = "The backups of the site cannot be opened, so nothing was changed."
    remedy = "Contact the operator of the platform with the ID of the job."
