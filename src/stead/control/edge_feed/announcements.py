"""Builds announcements: the edge records that change for an environment or a site.

Each begins with a new version of the site's records. This takes a lock until the transaction ends, so that a
higher version was built from what was read later.
"""

from collections.abc import Sequence

from stead.control.certificates import service as certificates
from stead.control.configuration import service as configuration
from stead.control.deployments import permanent_urls
from stead.control.deployments.rules import PermanentHosts
from stead.control.domains import service as domains
from stead.control.domains.rules import Claim
from stead.control.edge_feed import store
from stead.control.edge_feed.records import (
    Records,
    RecordSource,
    build_deletions,
    build_records,
    list_hosts,
)
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.functions import service as functions
from stead.control.jobs.definition import Announcement
from stead.control.redirects import service as redirects
from stead.protocol import edge_records


async def next_version(tx: Tx, site: str) -> int:
    """A version for records of a site that are built from what this transaction reads or writes."""
    return await store.next_version(tx, site)


async def serve_environment(tx: Tx, env: str) -> Announcement | None:
    """Announce how an environment is served now.

    None for environments that no edge serves: those of test sites, and those that are on no node.
    """
    version = await store.next_version_of_environment(tx, env)
    return await _serve_environment(tx, env, version)


async def _serve_environment(
    tx: Tx, env: str, version: int, *, all_permanent_hosts: bool = False
) -> Announcement | None:
    source = await _get_live_source(tx, env)
    if source is None or source.node_id is None:
        return None
    permanent = await permanent_urls.list_hosts(tx, env)
    if not all_permanent_hosts:
        # Each was announced when it was the newest one.
        permanent = PermanentHosts(permanent.served[:1], permanent.ended)
    records = await _build_current_records(tx, source, source.node_id, permanent)
    return Announcement(source.region, records, version)


async def serve_site(tx: Tx, site: str, *, all_permanent_hosts: bool = False) -> Announcement | None:
    """Announce every environment of a site. The published redirects do not change."""
    version = await store.next_version(tx, site)
    hosted = await environments.list_hosted(tx, site)
    return _merge(
        [
            await _serve_environment(tx, env, version, all_permanent_hosts=all_permanent_hosts)
            for env in hosted
        ]
    )


async def serve_site_with_redirects(tx: Tx, site: str) -> Announcement | None:
    """Announce every environment of a site, and before them the redirects that they share: all records of the
    site except certificates."""
    served = await serve_site(tx, site, all_permanent_hosts=True)
    if served is None:
        return None
    parts: Records = {
        edge_records.redirects_key(served.region, site, number): part
        for number, part in enumerate(await redirects.build_edge_parts(tx, site))
    }
    return Announcement(served.region, {**parts, **served.records}, served.version)


async def withdraw_environment(tx: Tx, env: str) -> Announcement | None:
    """Announce that an environment is no longer served."""
    return await _withdraw_environment(tx, env, await store.next_version_of_environment(tx, env))


async def _withdraw_environment(tx: Tx, env: str, version: int) -> Announcement | None:
    source = await _get_live_source(tx, env)
    if source is None:
        return None
    names, permanent = await domains.list_served(tx, env), await permanent_urls.list_hosts(tx, env)
    return Announcement(source.region, build_deletions(source, names, permanent), version)


async def withdraw_names(tx: Tx, claims: Sequence[Claim]) -> Announcement | None:
    """Announce that names of one environment are no longer served."""
    live = [claim for claim in claims if claim.mode == "live"]
    if not live:
        return None
    records: Records = {edge_records.host_key(claim.region, claim.hostname): None for claim in live}
    return Announcement(live[0].region, records, await store.next_version_of_environment(tx, live[0].env_id))


async def withdraw_site(tx: Tx, site: str) -> Announcement | None:
    """Announce that no environment of a site is served any longer."""
    version = await store.next_version(tx, site)
    production = await environments.get_production(tx, site)
    others = [env.id for env in await environments.list_placed(tx, site) if env.id != production.id]
    return _merge([await _withdraw_environment(tx, env, version) for env in (production.id, *others)])


async def withdraw_redirects(tx: Tx, env: str) -> Announcement | None:
    """Announce that the redirects of an environment's site are deleted."""
    version = await store.next_version_of_environment(tx, env)
    source = await _get_live_source(tx, env)
    if source is None:
        return None
    count = await redirects.count_published_parts(tx, source.site_id)
    if not count:
        return None
    parts: Records = {
        edge_records.redirects_key(source.region, source.site_id, number): None for number in range(count)
    }
    return Announcement(source.region, parts, version)


async def purge_cache(tx: Tx, purge: edge_records.PurgeRecord) -> Announcement | None:
    source = await _get_live_source(tx, purge.environment)
    return (
        Announcement(source.region, {edge_records.purge_key(source.region, purge): purge}) if source else None
    )


def _merge(announcements: list[Announcement | None]) -> Announcement | None:
    """Combine the announcements of one site, which all go to the site's region."""
    found = [announcement for announcement in announcements if announcement is not None]
    if not found:
        return None
    records = {key: record for announcement in found for key, record in announcement.records.items()}
    return Announcement(found[0].region, records, found[0].version)


async def _get_live_source(tx: Tx, env: str) -> RecordSource | None:
    source = await store.get_record_source(tx, env)
    return source if source is not None and source.mode == "live" else None


async def _build_current_records(
    tx: Tx, source: RecordSource, node: str, permanent: PermanentHosts
) -> Records:
    settings = await configuration.get_effective(tx, source.site_id, source.id)
    names = await domains.list_served(tx, source.id)
    hosts = [host.hostname for host in list_hosts(source, names)]
    secure = frozenset({host for host in hosts if await certificates.has_served_certificate(tx, host)})
    active = await redirects.get_active_set(tx, source.site_id)
    routes = await functions.list_routes(tx, source.site_id) if source.runtime == "wasm" else ()
    return build_records(
        source, node, settings, active, names=names, secure=secure, permanent=permanent, functions=routes
    )
