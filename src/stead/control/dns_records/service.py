"""The use cases of DNS records, each inside the caller's transaction."""

from msgspec import UNSET

from stead.control.dns_records import store
from stead.control.dns_records.rules import (
    MAX_RECORDS,
    Record,
    RecordNotFound,
    RecordsExhausted,
    VisibleRecord,
    ZonesUnavailable,
    ZoneTaken,
    require_compatible,
    zone_of,
)
from stead.control.dns_records.schema import NewRecord, RecordChange, RecordView
from stead.control.dns_records.values import complete_name, normalize
from stead.control.engines.postgres import Tx
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites import service as sites
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.shared.ids import has_shape, new_id


async def visible_record(call: Call, site: VisibleSite, record_id: str) -> VisibleRecord:
    found = await store.find_visible(call.tx, site, record_id) if has_shape("rec", record_id) else None
    if found is None:
        raise RecordNotFound
    return found


async def browse(tx: Tx, site: VisibleSite, page: PageRequest) -> Page[RecordView]:
    return await store.page(tx, site, page)


async def view(tx: Tx, record: str) -> RecordView:
    found = await store.view(tx, record)
    if found is None:
        raise RecordNotFound
    return found


async def create(call: Call, site: VisibleSite, wanted: NewRecord) -> RecordView:
    tx, zone = call.tx, await _change_zone(call, site)
    name = complete_name(wanted.name, zone)
    record = normalize(wanted.type, name, wanted.value, wanted.ttl, wanted.priority, zone)
    others = await store.list_records(tx, site.id)
    if len(others) >= MAX_RECORDS:
        raise RecordsExhausted(limit=MAX_RECORDS)
    await _require_compatible(tx, site, record, others)
    id_ = new_id("rec")
    await store.insert(tx, id_, site.id, record)
    call.audit.note(record=id_, type=record.type, name=record.name)
    return await view(tx, id_)


async def update(call: Call, site: VisibleSite, record: VisibleRecord, change: RecordChange) -> RecordView:
    tx, zone = call.tx, await _change_zone(call, site)
    changed = normalize(
        record.type,
        record.name,
        record.value if change.value is UNSET else change.value,
        record.ttl if change.ttl is UNSET else change.ttl,
        record.priority if change.priority is UNSET else change.priority,
        zone,
    )
    others = await store.list_records(tx, site.id, without=record.id)
    await _require_compatible(tx, site, changed, others)
    await store.update(tx, record.id, changed)
    return await view(tx, record.id)


async def delete(call: Call, site: VisibleSite, record: VisibleRecord) -> None:
    await _change_zone(call, site)
    await store.delete(call.tx, record.id)


async def _change_zone(call: Call, site: VisibleSite) -> str:
    """Lock the zone of the site until the transaction ends, and return its name."""
    require_changeable(site.status)
    if not call.context.serves_dns:
        raise ZonesUnavailable
    mode = (await sites.get_facts(call.tx, site.id)).mode
    zone = await store.change_zone(call.tx, site.id, zone_of(site.domain), mode)
    if await store.is_of_another(call.tx, site.id, zone, mode):
        raise ZoneTaken(zone=zone)
    return zone


async def _require_compatible(tx: Tx, site: VisibleSite, record: Record, others: list[Record]) -> None:
    require_compatible(record, others, await store.list_hosts(tx, site.id))
