"""HTTP operations on snapshots."""

from stead.control.backups import service
from stead.control.backups.rules import SnapshotNotFound, VisibleSnapshot
from stead.control.backups.schema import BackupsView, SnapshotView
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.jobs.rules import JobsWaiting
from stead.control.jobs.schema import JobView
from stead.control.plans.rules import StorageExhausted
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite
from stead.shared.errors import CapabilityUnsupported

operation = Operations(tag="Backups")


@operation(
    "GET /v1/sites/{site_id}/snapshots",
    id="sites.snapshots",
    scope="backups:read",
    errors=[SiteNotFound],
)
async def list_snapshots(call: Call, site: VisibleSite, page: PageRequest) -> Page[SnapshotView]:
    """List the snapshots of a site, newest first. Only complete snapshots are listed."""
    return await service.browse(call.tx, site, page)


@operation(
    "POST /v1/sites/{site_id}/backup",
    id="backups.create",
    scope="backups:write",
    job="backup.create",
    errors=[SiteNotFound, SiteBusy, CapabilityUnsupported, StorageExhausted, JobsWaiting],
)
async def create_backup(call: Call, site: VisibleSite) -> JobView:
    """Take a snapshot of the production environment: database, files, release and configuration.

    The job restores the snapshot on trial before it succeeds: rows and files are compared with the original,
    and WordPress is started without a network and must answer. A snapshot that fails this is not kept.
    """
    return await service.create(call.tx, site)


@operation(
    "POST /v1/sites/{site_id}/snapshots/{snapshot_id}/restore",
    id="backups.restore",
    scope="backups:write",
    job="backup.restore",
    errors=[SiteNotFound, SnapshotNotFound, SiteBusy, CapabilityUnsupported, JobsWaiting],
)
async def restore_snapshot(call: Call, site: VisibleSite, snapshot: VisibleSnapshot) -> JobView:
    """Restore a snapshot in place: database, files, release, redirects and configuration are replaced.

    The current state becomes a snapshot first (`before_restore`). The restored state is prepared beside it,
    and visitors get it in one step. If the site does not answer then, it returns to the state before, and the
    job fails. A failed restore can be repeated. The version of PHP, the domains, and the settings in
    `security` stay as they are.
    """
    return await service.restore(call.tx, site, snapshot)


@operation(
    "GET /v1/backups/status",
    id="backups.status",
    scope="backups:read",
)
async def get_backup_status(call: Call) -> BackupsView:
    """Read the latest snapshot of each site, and how its last backup ended. At most 500 sites."""
    return await service.view_status(call.tx, call.caller)
