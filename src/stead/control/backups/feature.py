"""Backups: snapshots of sites, and restoring them."""

from stead.control.backups import events, operations, service, workflows
from stead.control.feature import Feature
from stead.control.jobs.repository_access import repository_password_context
from stead.control.sealed_columns import SealedColumn

FEATURE = Feature(
    name="backups",
    operations=[operations.operation],
    resolvers=[service.visible_snapshot],
    id_prefixes={"snapshot_id": "snap"},
    workflows=[workflows.CREATE, workflows.RESTORE],
    events=[
        events.SNAPSHOT_COMPLETED,
        events.SNAPSHOT_FAILED,
        events.SNAPSHOT_RESTORED,
        events.SNAPSHOT_RESTORE_FAILED,
        events.BACKUPS_FAILING,
    ],
    sealed_columns=[SealedColumn("repositories", "site_id", "password", repository_password_context)],
)
