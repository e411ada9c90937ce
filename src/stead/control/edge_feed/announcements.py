"""Builds announcements: the edge records that change for an environment or a site."""

from stead.control.certificates import service as certificates
from stead.control.configuration import service as configuration
from stead.control.edge_feed import store
from stead.control.edge_feed.records import Records, RecordSource, build_deletions, build_records
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import Announcement
from stead.control.redirects import service as redirects
from stead.protocol import edge_records


async def serve_environment(tx: Tx, env: str) -> Announcement | None:
    """Announce how an environment is served now.

    None for environments that no edge serves: those of test sites, and those that are on no node.
    """
    source = await _get_live_source(tx, env)
    if source is None or source.node_id is None:
        return None
    return Announcement(source.region, await _build_current_records(tx, source, source.node_id))


async def serve_site(tx: Tx, site: str) -> Announcement | None:
    """Announce every environment of a site. The published redirects do not change."""
    return _merge([await serve_environment(tx, env) for env in await environments.list_hosted(tx, site)])


async def serve_site_with_redirects(tx: Tx, site: str) -> Announcement | None:
    """Announce every environment of a site, and before them the redirects that they share."""
    served = await serve_site(tx, site)
    if served is None:
        return None
    parts: Records = {
        edge_records.redirects_key(served.region, site, number): part
        for number, part in enumerate(await redirects.build_edge_parts(tx, site))
    }
    return Announcement(served.region, {**parts, **served.records})


async def list_served_sites(tx: Tx, *, after: str, limit: int) -> list[str]:
    """One page of the ids of all sites that visitors can reach, in order of id."""
    return await store.list_served_sites(tx, after=after, limit=limit)


async def withdraw_environment(tx: Tx, env: str) -> Announcement | None:
    """Announce that an environment is no longer served."""
    source = await _get_live_source(tx, env)
    return Announcement(source.region, build_deletions(source)) if source else None


async def withdraw_site(tx: Tx, site: str) -> Announcement | None:
    """Announce that no environment of a site is served any longer."""
    production = await environments.get_production(tx, site)
    others = [env.id for env in await environments.list_placed(tx, site) if env.id != production.id]
    return _merge([await withdraw_environment(tx, env) for env in (production.id, *others)])


async def withdraw_redirects(tx: Tx, env: str) -> Announcement | None:
    """Announce that the redirects of an environment's site are deleted."""
    source = await _get_live_source(tx, env)
    if source is None:
        return None
    count = await redirects.count_published_parts(tx, source.site_id)
    if not count:
        return None
    parts: Records = {
        edge_records.redirects_key(source.region, source.site_id, number): None for number in range(count)
    }
    return Announcement(source.region, parts)


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
    return Announcement(found[0].region, records)


async def _get_live_source(tx: Tx, env: str) -> RecordSource | None:
    source = await store.get_record_source(tx, env)
    return source if source is not None and source.mode == "live" else None


async def _build_current_records(tx: Tx, source: RecordSource, node: str) -> Records:
    settings = await configuration.get_effective(tx, source.site_id, source.id)
    secure = frozenset({host for host in source.hosts if await certificates.has_served_certificate(tx, host)})
    active = await redirects.get_active_set(tx, source.site_id)
    return build_records(source, node, settings, active, secure=secure)
