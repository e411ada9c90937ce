"""The JSON shapes of snapshots and of the status of backups."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.backups.rules import BackupStatus, SnapshotKind

_SITE = "site_01k9zy3v7d00r3m8w5x2t6b4qa"


class SnapshotView(Struct):
    id: Annotated[str, Meta(examples=["snap_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    site_id: Annotated[str, Meta(examples=[_SITE])]
    env_id: Annotated[
        str,
        Meta(description="The environment that it shows.", examples=["env_01k9zy3v7d00r3m8w5x2t6b4qa"]),
    ]
    kind: Annotated[SnapshotKind, Meta(description="Why it was taken.", examples=["on_demand"])]
    tags: Annotated[
        str, Meta(description="How it came to be: `scheduled` or `on-demand`.", examples=["on-demand"])
    ]
    taken_at: datetime
    size_bytes: Annotated[
        int, Meta(description="The size of the files and rows when they are restored.", examples=[73_400_320])
    ]
    verified_at: Annotated[
        datetime | None,
        Meta(
            description="When it was restored on trial and compared with the original. WordPress was also"
            " started and has answered, except for `before_restore`, `before_quarantine` and `site_deleted`:"
            " these sites may be broken. Null if this has not happened."
        ),
    ]
    synced_at: Annotated[
        datetime | None, Meta(description="When it was copied to the second store. Null if it was not.")
    ]
    retention_reason: Annotated[
        str | None,
        Meta(description="Why it is kept beyond the normal window of the plan.", examples=["monthly"]),
    ]


class BackupStatusRow(Struct):
    site_id: Annotated[str, Meta(examples=[_SITE])]
    slug: Annotated[str, Meta(examples=["example-com"])]
    domain: Annotated[str, Meta(examples=["example.com"])]
    latest_snapshot_at: datetime | None
    snapshot_age_seconds: Annotated[int | None, Meta(examples=[28_800])]
    size_bytes: Annotated[int | None, Meta(description="Of the latest snapshot.", examples=[73_400_320])]
    last_backup_status: Annotated[
        BackupStatus, Meta(description="How the last attempt ended.", examples=["succeeded"])
    ]


class BackupsView(Struct):
    truncated: Annotated[
        bool, Meta(description="Whether there are more sites than the response has.", examples=[False])
    ]
    sites: list[BackupStatusRow]
