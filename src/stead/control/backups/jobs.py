"""The kinds of job of backups."""

from datetime import timedelta

from msgspec import Struct

from stead.control.backups.rules import SnapshotKind
from stead.control.jobs.kinds import JobKind


class BackupWork(Struct, frozen=True):
    environment: str
    kind: SnapshotKind = "on_demand"


class RestoreWork(Struct, frozen=True):
    environment: str
    snapshot: str


CREATE = JobKind(
    "backup.create",
    params=BackupWork,
    resource="backup",
    lock="environment",
    limit=timedelta(minutes=60),
    results={"snapshot_id"},
)

RESTORE = JobKind(
    "backup.restore",
    params=RestoreWork,
    resource="backup",
    lock="site",
    limit=timedelta(minutes=90),
    results={"snapshot_id", "env_id", "url", "deployment_id", "release_id", "artifact_id", "digest"},
)
"""It changes the release, the configuration and the redirects, which belong to the whole site."""
