"""Queries of DNS records and zones."""

from collections.abc import Sequence
from datetime import datetime

from stead.control.dns_records.rules import Record, VisibleRecord, Zone
from stead.control.dns_records.schema import RecordView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.rules import VisibleSite

_VIEW = (
    "r.id, r.type, r.name, r.value, r.ttl, r.priority, r.version <= z.published_version, r.created_at"
    " from dns_records r join dns_zones z on z.site_id = r.site_id"
)


async def find_visible(tx: Tx, site: VisibleSite, record: str) -> VisibleRecord | None:
    return await tx.one(
        lambda id_, *rest: VisibleRecord(id_, site.id, site.team_id, site.role, *rest),
        "select id, type, name, value, ttl, priority from dns_records where site_id = $1 and id = $2",
        *(site.id, record),
    )


async def page(tx: Tx, site: VisibleSite, request: PageRequest) -> Page[RecordView]:
    return await request.fetch(
        tx,
        RecordView,
        f"select {_VIEW} where r.site_id = $1 and r.id < $2 order by r.id desc limit $3",
        site.id,
    )


async def view(tx: Tx, record: str) -> RecordView | None:
    return await tx.one(RecordView, f"select {_VIEW} where r.id = $1", record)


async def find_zone_owner(tx: Tx, name: str, mode: str) -> str | None:
    found = await tx.value("select site_id from dns_zones where name = $1 and mode = $2", name, mode)
    return None if found is None else str(found)


async def ensure_zone(tx: Tx, site: str, name: str, mode: str) -> bool:
    """Lock the zone of a site, and count a change. False if another site has the name."""
    await tx.run(
        "insert into dns_zones (site_id, name, mode, version, changed_at, next_attempt_at)"
        " values ($1, $2, $3, 0, $4, $4) on conflict do nothing",
        *(site, name, mode, tx.now),
    )
    return bool(
        await tx.run(
            "update dns_zones set version = version + 1, changed_at = $3, next_attempt_at = $3"
            " where site_id = $1 and name = $2",
            *(site, name, tx.now),
        )
    )


async def get_zone(tx: Tx, site: str) -> Zone | None:
    return await tx.one(Zone, "select site_id, name from dns_zones where site_id = $1", site)


async def list_records(tx: Tx, site: str, *, without: str = "") -> list[Record]:
    return await tx.all(
        Record,
        "select type, name, value, ttl, priority from dns_records where site_id = $1 and id <> $2",
        *(site, without),
    )


async def insert(tx: Tx, id_: str, site: str, record: Record) -> None:
    await tx.run(
        "insert into dns_records (id, site_id, type, name, value, ttl, priority, version, created_at)"
        " select $1, $2, $3, $4, $5, $6, $7, z.version, $8 from dns_zones z where z.site_id = $2",
        *(id_, site, record.type, record.name, record.value, record.ttl, record.priority, tx.now),
    )


async def update(tx: Tx, id_: str, record: Record) -> None:
    await tx.run(
        "update dns_records r set value = $2, ttl = $3, priority = $4, version = z.version"
        " from dns_zones z where r.id = $1 and z.site_id = r.site_id",
        *(id_, record.value, record.ttl, record.priority),
    )


async def delete(tx: Tx, id_: str) -> None:
    await tx.run("delete from dns_records where id = $1", id_)


async def list_hosts(tx: Tx, site: str) -> list[str]:
    """The verified domains of a site."""
    return await tx.all(str, "select hostname from domains where site_id = $1 and status = 'verified'", site)


async def list_edge_addresses(tx: Tx, site: str) -> list[str]:
    """Of the nodes of the region of the site."""
    return await tx.all(
        str,
        "select distinct n.edge_address from nodes n join sites s on s.region = n.region"
        " where s.id = $1 and n.edge_address is not null order by 1",
        site,
    )


async def list_due(tx: Tx, *, limit: int) -> list[tuple[str, str, int, bool]]:
    """Zones that the name server does not have as they are: the site, the name, the version, and whether the
    site was deleted. Those of test sites are never published."""
    return await tx.all(
        lambda *row: row,
        "select z.site_id, z.name, z.version, s.status = 'deleted' from dns_zones z"
        " join sites s on s.id = z.site_id where z.mode = 'live' and z.next_attempt_at <= $1"
        " and (z.version <> z.published_version or s.status = 'deleted')"
        " order by z.next_attempt_at limit $2",
        *(tx.now, limit),
    )


async def mark_published(tx: Tx, site: str, version: int) -> None:
    await tx.run("update dns_zones set published_version = $2 where site_id = $1", site, version)


async def postpone(tx: Tx, sites: Sequence[str], until: datetime) -> None:
    await tx.run("update dns_zones set next_attempt_at = $2 where site_id = any($1)", list(sites), until)


async def delete_zone(tx: Tx, site: str) -> None:
    await tx.run("delete from dns_zones where site_id = $1", site)
