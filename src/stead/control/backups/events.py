"""Event types of snapshots."""

from typing import Annotated

from msgspec import Meta

from stead.control.backups.rules import SnapshotKind
from stead.control.outbox.event_types import Domain, EventType, Payload, Reason

_Id = Annotated[str, Meta(examples=["snap_01k9zy3v7d00r3m8w5x2t6b4qa"])]
_Kind = Annotated[SnapshotKind, Meta(examples=["on_demand"])]


class SnapshotCompleted(Payload):
    domain: Domain
    snapshot_id: _Id
    kind: _Kind
    size_bytes: Annotated[int, Meta(examples=[73_400_320])]
    verified: Annotated[bool, Meta(description="Whether it was restored on trial.", examples=[True])]


class SnapshotFailed(Payload):
    domain: Domain
    kind: _Kind
    reason: Reason = None


class SnapshotRestored(Payload):
    """`before_id` is the snapshot of the state before."""

    domain: Domain
    snapshot_id: _Id
    before_id: Annotated[str | None, Meta(examples=["snap_01k9zz0a4k00h2q6c9f3n7r1sx"])]


class RestoreFailed(Payload):
    domain: Domain
    snapshot_id: _Id
    reason: Reason = None


class BackupsFailing(Payload):
    domain: Domain
    since: Annotated[str, Meta(examples=["2026-11-14T02:18:51+00:00"])]
    reason: Reason = None


class BackupsProblem(Payload):
    domain: Domain
    reason: Reason = None


SNAPSHOT_COMPLETED = EventType("snapshot.completed", "backup", "A snapshot was taken", data=SnapshotCompleted)
SNAPSHOT_FAILED = EventType(
    "snapshot.failed",
    "backup",
    "A snapshot could not be taken",
    "error",
    data=SnapshotFailed,
    in_app=True,
    text="No snapshot of {domain} could be taken: {reason}",
)
SNAPSHOT_RESTORED = EventType(
    "snapshot.restored",
    "backup",
    "A snapshot was restored",
    "warning",
    data=SnapshotRestored,
    in_app=True,
    text="{domain} was restored from the snapshot {snapshot_id}.",
)
SNAPSHOT_RESTORE_FAILED = EventType(
    "snapshot.restore_failed",
    "backup",
    "A snapshot could not be restored",
    "error",
    data=RestoreFailed,
    in_app=True,
    email=True,
    text="{domain} is as it was before; the snapshot {snapshot_id} could not be restored: {reason}",
)
BACKUPS_FAILING = EventType(
    "snapshot.overdue",
    "backup",
    "A site has no backup since yesterday",
    "critical",
    data=BackupsFailing,
    in_app=True,
    email=True,
    text="No snapshot of {domain} could be taken since {since}: {reason}",
)
BACKUPS_SUSPICIOUS = EventType(
    "snapshot.suspicious",
    "backup",
    "Something about the snapshots of a site looks wrong; none is removed until an operator has looked at it",
    "warning",
    data=BackupsProblem,
    in_app=True,
    text="Old snapshots of {domain} are kept until an operator has looked at them: {reason}",
)
BACKUPS_DAMAGED = EventType(
    "snapshot.damaged",
    "backup",
    "A check of the snapshots of a site found damage",
    "critical",
    data=BackupsProblem,
    in_app=True,
    email=True,
    text="The snapshots of {domain} are damaged, and an operator must look at them: {reason}",
)
