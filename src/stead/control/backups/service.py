"""The use cases of snapshots, each inside the caller's transaction."""

from datetime import datetime

from stead.control.backups import storage, store
from stead.control.backups.jobs import CREATE, RESTORE, BackupWork, RestoreWork
from stead.control.backups.rules import SnapshotNotFound, VisibleSnapshot
from stead.control.backups.schema import BackupsView, SnapshotView
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.plans.rules import Owner
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.shared.errors import CapabilityUnsupported
from stead.shared.ids import has_shape

SCOPE = "backups:write"
MAX_STATUS_ROWS = 500
_IN_SERVICE = ("running", "stopped", "failed", "awaiting_push")


async def visible_snapshot(call: Call, site: VisibleSite, snapshot_id: str) -> VisibleSnapshot:
    well_formed = has_shape("snap", snapshot_id)
    found = await store.find_visible(call.tx, site, snapshot_id) if well_formed else None
    if found is None:
        raise SnapshotNotFound
    return found


async def browse(tx: Tx, site: VisibleSite, page: PageRequest) -> Page[SnapshotView]:
    return await store.page(tx, site, page)


async def view_status(tx: Tx, caller: Principal) -> BackupsView:
    rows = await store.list_status(tx, caller, limit=MAX_STATUS_ROWS + 1)
    return BackupsView(truncated=len(rows) > MAX_STATUS_ROWS, sites=rows[:MAX_STATUS_ROWS])


async def has_snapshot_since(tx: Tx, env: str, moment: datetime) -> bool:
    """Whether the environment can be restored to what it was at this moment or later."""
    return await store.has_snapshot_since(tx, env, moment)


async def create(tx: Tx, site: VisibleSite) -> JobView:
    """Take a snapshot of production."""
    _require_possible(site)
    production = await environments.get_production(tx, site.id)
    if production.status != "running":
        raise SiteBusy(status=production.status)
    await storage.require_room(tx, Owner(site.account_id, site.team_id), "on_demand")
    subject = jobs.Subject(site.id, site.owner, env_id=production.id, id=site.id)
    return await jobs.enqueue(tx, CREATE, BackupWork(production.id), subject, scope=SCOPE)


async def restore(tx: Tx, site: VisibleSite, snapshot: VisibleSnapshot) -> JobView:
    _require_possible(site)
    env = await environments.get(tx, snapshot.env_id)
    subject = jobs.Subject(
        site.id, site.owner, id=snapshot.id, extra={"env_id": env.id, "snapshot_id": snapshot.id}
    )
    work = RestoreWork(env.id, snapshot.id)
    return await jobs.enqueue(tx, RESTORE, work, subject, scope=SCOPE)


def _require_possible(site: VisibleSite) -> None:
    if site.runtime == "wasm":
        raise CapabilityUnsupported(capability="snapshots")
    if site.status not in _IN_SERVICE:
        raise SiteBusy(status=site.status)
