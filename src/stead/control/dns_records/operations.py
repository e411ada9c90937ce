"""HTTP operations on DNS records."""

from stead.control.dns_records import service
from stead.control.dns_records.rules import (
    RecordConflicts,
    RecordExists,
    RecordNotFound,
    RecordsExhausted,
    VisibleRecord,
    ZonesUnavailable,
    ZoneTaken,
)
from stead.control.dns_records.schema import NewRecord, RecordChange, RecordView
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.rules import SiteBusy, SiteNotFound, VisibleSite

operation = Operations(tag="DNS")

_ALL = "/v1/sites/{site_id}/dns/records"
_ONE = f"{_ALL}/{{record_id}}"
_READ, _WRITE = "domains:read", "domains:write"
_FINDING = [SiteNotFound, RecordNotFound]
_CHANGING = [SiteBusy, ZonesUnavailable, ZoneTaken]


@operation(f"GET {_ALL}", id="dns_records.list", scope=_READ, preview=True, errors=[SiteNotFound])
async def list_records(call: Call, site: VisibleSite, page: PageRequest) -> Page[RecordView]:
    """List the DNS records of a site, newest first. Those that the platform adds itself are not listed."""
    return await service.browse(call.tx, site, page)


@operation(f"GET {_ONE}", id="dns_records.get", scope=_READ, preview=True, errors=_FINDING)
async def get_record(call: Call, site: VisibleSite, record: VisibleRecord) -> RecordView:  # noqa: ARG001 - its parent must be visible too
    """Read a DNS record, and whether the name servers have it."""
    return await service.view(call.tx, record.id)


@operation(
    f"POST {_ALL}",
    id="dns_records.create",
    scope=_WRITE,
    status=201,
    preview=True,
    errors=[SiteNotFound, RecordExists, RecordConflicts, RecordsExhausted, *_CHANGING],
)
async def create_record(call: Call, site: VisibleSite, body: NewRecord) -> RecordView:
    """Create a DNS record in the zone of a site, which is its domain without `www`.

    The platform adds the addresses of every domain of the site itself, also at the top of the zone. The zone
    is served once the domain is verified, and counts once the domain is delegated to the name servers of the
    platform.
    """
    return await service.create(call, site, body)


@operation(
    f"PATCH {_ONE}",
    id="dns_records.update",
    scope=_WRITE,
    preview=True,
    errors=[*_FINDING, RecordExists, RecordConflicts, *_CHANGING],
)
async def update_record(
    call: Call, site: VisibleSite, record: VisibleRecord, body: RecordChange
) -> RecordView:
    """Change the value, the TTL or the priority of a DNS record."""
    return await service.update(call, site, record, body)


@operation(
    f"DELETE {_ONE}",
    id="dns_records.delete",
    recent_sign_in=True,
    scope=_WRITE,
    preview=True,
    errors=[*_FINDING, *_CHANGING],
)
async def delete_record(call: Call, site: VisibleSite, record: VisibleRecord) -> None:
    """Delete a DNS record."""
    await service.delete(call, site, record)
