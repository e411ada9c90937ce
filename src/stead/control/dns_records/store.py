"""Queries of DNS records and zones."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from stead.control.dns_records.rules import CHALLENGE_TTL, Delegation, Record, VisibleRecord, Zone
from stead.control.dns_records.schema import RecordView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.rules import VisibleSite

_VIEW = (
    "r.id, r.type, r.name, r.value, r.ttl, r.priority, r.version <= z.published_version, z.delegation,"
    " r.created_at from dns_records r join dns_zones z on z.site_id = r.site_id"
)

_IS_PROVED = (
    "exists (select from domains d join sites s on s.id = d.site_id where d.site_id = z.site_id"
    " and d.hostname = z.name and d.status = 'verified' and d.proved_by_record and d.released_at is null"
    " and s.status <> 'deleted')"
)
"""By its TXT record: a name may point here because of somebody else, and long ago."""
_SHADOWS = """
  exists (select from sites own cross join lateral (select string_to_array(z.name, '.') as labels) l
    cross join generate_series(2, cardinality(l.labels)) as first
    join dns_zones p on p.name = array_to_string(l.labels[first:], '.') and p.mode = 'live'
      and p.published_version > 0 and p.site_id <> z.site_id
    join sites s on s.id = p.site_id
    where own.id = z.site_id and coalesce(own.team_id, own.account_id) <> coalesce(s.team_id, s.account_id)
      and not exists (select from dns_records r
        where r.site_id = p.site_id and r.type = 'NS' and r.name = z.name))
"""
"""It would hide a part of a zone of another owner, who has not delegated that part."""
_MAY_SERVE = f"{_IS_PROVED} and not {_SHADOWS}"
_HOSTS = (
    "select d.site_id, string_agg(d.hostname, ' ' order by d.hostname) as names from domains d"
    " where d.status = 'verified' and d.released_at is null"
)
_OWN = "coalesce(h.names, '') || ' at ' || coalesce(e.at, '')"
"""What the platform itself has in a zone, to be compared later. `e` has the addresses of each region."""


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


async def change_zone(tx: Tx, site: str, name: str, mode: str) -> str:
    """Lock the zone of a site, count a change, and return the name of the zone. It is made with this name if
    there is none."""
    await tx.run(
        "insert into dns_zones (site_id, name, mode, version, changed_at, next_attempt_at)"
        " values ($1, $2, $3, 0, $4, $4) on conflict do nothing",
        *(site, name, mode, tx.now),
    )
    return str(
        await tx.value(
            "update dns_zones set version = version + 1, changed_at = $2, next_attempt_at = $2"
            " where site_id = $1 returning name",
            *(site, tx.now),
        )
    )


async def count_change(tx: Tx, site: str) -> int:
    """Have the zone of a site published again. Returns its new version."""
    return int(
        await tx.value(
            "update dns_zones set version = version + 1, next_attempt_at = $2 where site_id = $1"
            " returning version",
            *(site, tx.now),
        )
    )


async def find_zone(tx: Tx, site: str) -> Zone | None:
    return await tx.one(
        Zone, "select name, published_version, delegation from dns_zones where site_id = $1", site
    )


async def insert_challenge(tx: Tx, site: str, host: str, name: str, value: str) -> None:
    await tx.run(
        "insert into dns_challenges (host, site_id, name, value, created_at) values ($1, $2, $3, $4, $5)",
        *(host, site, name, value, tx.now),
    )


async def remove_challenge(tx: Tx, host: str) -> None:
    for site in await tx.all(str, "delete from dns_challenges where host = $1 returning site_id", host):
        await count_change(tx, site)


async def remove_old_challenges(tx: Tx, before: datetime) -> None:
    for host in await tx.all(str, "select host from dns_challenges where created_at < $1", before):
        await remove_challenge(tx, host)


async def list_challenges(tx: Tx, site: str) -> list[Record]:
    return await tx.all(
        lambda name, value: Record("TXT", name, value, CHALLENGE_TTL),
        "select name, value from dns_challenges where site_id = $1",
        site,
    )


async def is_of_another(tx: Tx, site: str, name: str, mode: str) -> bool:
    """Whether another site has proved the domain of a zone."""
    return bool(
        await tx.value(
            "select exists (select from domains d where d.hostname = $2 and d.mode = $3 and d.site_id <> $1"
            " and d.status = 'verified' and d.released_at is null)",
            *(site, name, mode),
        )
    )


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
    """The verified domains of a site. Those that it gave up are not among them."""
    return await tx.all(
        str,
        "select hostname from domains where site_id = $1 and status = 'verified' and released_at is null",
        site,
    )


async def get_region(tx: Tx, site: str) -> str:
    return str(await tx.value("select region from sites where id = $1", site))


async def list_regions(tx: Tx) -> list[str]:
    """Those of sites that have a zone."""
    return await tx.all(
        str,
        "select distinct s.region from dns_zones z join sites s on s.id = z.site_id where z.mode = 'live'",
    )


async def claim_due(tx: Tx, until: datetime, *, limit: int) -> list[tuple[str, str, int]]:
    """Zones that the name server does not have as they are: the site, the name and the version. Only zones
    whose site has proved the domain of the zone itself: a name below it may belong to somebody else. Zones of
    test sites are never published. No other worker publishes them until then, or until `release`."""
    return await tx.all(
        lambda *row: row,
        "update dns_zones z set leased_until = $3 from"  # noqa: S608 - constants only
        " (select z.site_id from dns_zones z where z.mode = 'live' and z.next_attempt_at <= $1"
        f" and z.version <> z.published_version and z.leased_until <= $1 and {_MAY_SERVE}"
        " order by z.next_attempt_at limit $2 for update skip locked) due"
        " where z.site_id = due.site_id returning z.site_id, z.name, z.version",
        *(tx.now, limit, until),
    )


async def list_abandoned(tx: Tx, *, limit: int) -> list[tuple[str, str]]:
    """Published zones whose site was deleted, or does not have the domain any more, or that are now in a zone
    of another owner: the site and the name."""
    return await tx.all(
        lambda *row: row,
        "select z.site_id, z.name from dns_zones z where z.published_version > 0"  # noqa: S608
        " and z.leased_until <= $1"
        f" and z.next_attempt_at <= $1 and not ({_MAY_SERVE}) order by z.next_attempt_at limit $2",
        *(tx.now, limit),
    )


async def request_changed(tx: Tx, edges: Mapping[str, str]) -> int:
    """Have the zones published again whose site has other domains, or whose region has other edges, than
    when they were published. `edges` are the addresses of each region."""
    return await tx.run(
        "with e as (select * from unnest($2::text[], $3::text[]) as e (region, at)),"  # noqa: S608
        f" h as materialized ({_HOSTS} and d.site_id in"
        " (select site_id from dns_zones where published_version > 0) group by d.site_id)"
        " update dns_zones z set version = z.version + 1, next_attempt_at = $1"
        " from sites s left join h on h.site_id = s.id left join e on e.region = s.region"
        " where s.id = z.site_id and z.published_version > 0 and z.version = z.published_version"
        f" and z.own <> {_OWN}",
        *(tx.now, list(edges), list(edges.values())),
    )


async def get_own(tx: Tx, site: str, edges: str) -> str:
    """`edges` are the addresses of the region of the site."""
    found = await tx.value(
        f"select {_OWN} from sites s"  # noqa: S608 - constants only
        f" left join lateral ({_HOSTS} and d.site_id = s.id group by d.site_id) h on true"
        " cross join (select $2::text as at) e where s.id = $1",
        *(site, edges),
    )
    return "" if found is None else str(found)


async def mark_published(tx: Tx, site: str, version: int, own: str) -> None:
    await tx.run(
        "update dns_zones set published_version = $2, own = $3, leased_until = '-infinity'"
        " where site_id = $1",
        *(site, version, own),
    )


async def release(tx: Tx, site: str, until: datetime) -> None:
    """It could not be published, and is tried again then."""
    await tx.run(
        "update dns_zones set leased_until = '-infinity', next_attempt_at = $2 where site_id = $1",
        *(site, until),
    )


async def is_published_by_another(tx: Tx, site: str, name: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from dns_zones z where z.name = $2 and z.site_id <> $1"  # noqa: S608
            f" and z.mode = 'live' and z.published_version > 0 and {_MAY_SERVE})",
            *(site, name),
        )
    )


async def mark_withdrawn(tx: Tx, site: str, name: str) -> None:
    await tx.run(
        "update dns_zones set published_version = 0, delegation = 'unknown',"
        " delegation_check_at = '-infinity' where site_id = $1",
        site,
    )
    # Another site may have published the zone just before it was withdrawn.
    await tx.run(
        "update dns_zones set version = version + 1, next_attempt_at = $3 where name = $2 and site_id <> $1",
        *(site, name, tx.now),
    )


async def claim_to_check(tx: Tx, until: datetime, *, limit: int) -> list[tuple[str, str]]:
    """Published zones whose delegation is to be looked up now: the site and the name. Other workers leave
    them to this one until then."""
    return await tx.all(
        lambda *row: row,
        "update dns_zones z set delegation_check_at = $2 from (select site_id from dns_zones"
        " where published_version > 0 and delegation_check_at <= $1 order by delegation_check_at limit $3"
        " for update skip locked) due where z.site_id = due.site_id returning z.site_id, z.name",
        *(tx.now, until, limit),
    )


async def claim_to_prove(tx: Tx, until: datetime, *, limit: int) -> list[tuple[str, str, str, str]]:
    """Zones whose domain is verified, but not by its TXT record: the site, the name, the domain and the value
    of the record. Other workers leave them to this one until then."""
    return await tx.all(
        lambda *row: row,
        "update dns_zones z set proof_check_at = $2 from (select z.site_id, d.id, d.challenge"
        " from dns_zones z join domains d on d.site_id = z.site_id and d.hostname = z.name"
        " where z.mode = 'live' and z.published_version = 0 and z.proof_check_at <= $1"
        " and d.status = 'verified' and not d.proved_by_record and d.released_at is null"
        " order by z.proof_check_at limit $3 for update of z skip locked) due"
        " where z.site_id = due.site_id returning z.site_id, z.name, due.id, due.challenge",
        *(tx.now, until, limit),
    )


async def record_delegation(tx: Tx, site: str, delegation: Delegation, check_at: datetime) -> None:
    await tx.run(
        "update dns_zones set delegation = $2, delegation_check_at = $3 where site_id = $1",
        *(site, delegation, check_at),
    )


async def postpone(tx: Tx, sites: Sequence[str], until: datetime) -> None:
    await tx.run("update dns_zones set next_attempt_at = $2 where site_id = any($1)", list(sites), until)


async def delete_old(tx: Tx, *, limit: int) -> int:
    """Forget the zones of deleted sites that are not published."""
    return await tx.run(
        "delete from dns_zones where site_id in (select z.site_id from dns_zones z"
        " join sites s on s.id = z.site_id where s.status = 'deleted' and z.published_version = 0"
        " and not coalesce(s.recoverable_until > $1, false) limit $2)",
        *(tx.now, limit),
    )
