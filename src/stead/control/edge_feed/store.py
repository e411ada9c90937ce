"""Queries for what edge records are built from."""

from stead.control.edge_feed.records import RecordSource
from stead.control.engines.postgres import Tx

_RECORD_SOURCE = """
  select e.id, s.id, e.type, e.subdomain,
    case when a.suspended_at is null then e.status else 'suspended' end, s.region, s.runtime, s.mode,
    e.node_id, e.release,
    array(select d.path from malware_detections d where d.env_id = e.id and d.source = 'file'
      and d.status = 'quarantined' and not d.replaced and octet_length(d.path) <= 300
      order by d.id desc limit 100)
  from environments e join sites s on s.id = e.site_id left join accounts a on a.id = s.account_id
"""
_NEXT_VERSION = """
  insert into edge_versions (site_id, version)
  select s.id, (extract(epoch from clock_timestamp()) * 1000000)::bigint from sites s where
"""
_KEEP_ASCENDING = """
  on conflict (site_id) do update
  set version = greatest(edge_versions.version + 1, excluded.version) returning version
"""


async def next_version(tx: Tx, site: str) -> int:
    """A version that is higher than all earlier ones of the site, also of those before the database was
    restored from a backup: it is the time in microseconds. Locks the versions of the site."""
    version: int | None = await tx.value(f"{_NEXT_VERSION} s.id = $1 {_KEEP_ASCENDING}", site)
    return version or 0


async def next_version_of_environment(tx: Tx, env: str) -> int:
    """The same, for the site of an environment."""
    condition = "s.id = (select e.site_id from environments e where e.id = $1)"
    version: int | None = await tx.value(f"{_NEXT_VERSION} {condition} {_KEEP_ASCENDING}", env)
    return version or 0


async def get_record_source(tx: Tx, env: str) -> RecordSource | None:
    return await tx.one(RecordSource, f"{_RECORD_SOURCE} where e.id = $1", env)


async def current_version(tx: Tx) -> int:
    """Higher than every version that was taken before, and lower than every later one."""
    return int(await tx.value("select (extract(epoch from clock_timestamp()) * 1000000)::bigint"))


async def list_regions(tx: Tx) -> list[str]:
    """The regions that have a node or a live site."""
    return await tx.all(
        str, "select region from nodes union select region from sites where mode = 'live' order by 1"
    )


async def list_node_regions(tx: Tx) -> list[str]:
    return await tx.all(str, "select distinct region from nodes order by 1")


async def list_served_sites(tx: Tx, region: str, *, after: str, limit: int) -> list[str]:
    """One page of the ids of all sites of a region that visitors can reach, in order of id."""
    return await tx.all(
        str,
        "select s.id from sites s where s.mode = 'live' and s.status not in ('deleted', 'provisioning')"
        " and s.region = $1 and s.id > $2 order by s.id limit $3",
        region,
        after,
        limit,
    )


async def list_known_environments(tx: Tx, environments: list[str]) -> list[str]:
    return await tx.all(
        str, "select id from environments where id = any($1) and status <> 'deleted'", environments
    )


async def list_known_hosts(tx: Tx, hosts: list[str]) -> list[str]:
    """Those that are a name or the preview host of an environment, or the host of a deployment."""
    return await tx.all(
        str,
        "select subdomain from environments where subdomain = any($1) and status <> 'deleted' union"
        " select hostname from domains where hostname = any($1) and mode = 'live' and released_at is null"
        " union select d.permanent_host from deployments d join environments e on e.id = d.env_id"
        " where d.permanent_host = any($1) and e.status <> 'deleted'",
        hosts,
    )


async def list_known_sites(tx: Tx, sites: list[str]) -> list[str]:
    return await tx.all(str, "select id from sites where id = any($1)", sites)


async def list_known_certificates(tx: Tx, hosts: list[str]) -> list[str]:
    return await tx.all(str, "select host from certificates where host = any($1)", hosts)
