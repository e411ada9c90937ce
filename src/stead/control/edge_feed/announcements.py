"""Announcements: what the edges of a region are to be told about an environment or a site."""

from stead.control.certificates import service as certificates
from stead.control.configuration import service as configuration
from stead.control.edge_feed import records as rules
from stead.control.edge_feed import store
from stead.control.edge_feed.records import Facts, Records
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.definition import Announcement
from stead.control.redirects import service as redirects
from stead.protocol import edge


async def serve(tx: Tx, env: str) -> Announcement | None:
    """How it is served now; nothing to announce where no edge knows it: a test site, or one on no node."""
    facts = await _announced(tx, env)
    if facts is None or facts.node_id is None:
        return None
    return Announcement(facts.region, await _served(tx, facts, facts.node_id))


async def serve_site(tx: Tx, site: str) -> Announcement | None:
    """All environments of a site. Its redirects stay as they were told."""
    found = [await serve(tx, env) for env in await environments.carried(tx, site)]
    served = [announcement for announcement in found if announcement is not None]
    if not served:
        return None
    records = {key: record for announcement in served for key, record in announcement.records.items()}
    return Announcement(served[0].region, records)


async def serve_redirected(tx: Tx, site: str) -> Announcement | None:
    """All environments of a site, and before them the redirects they share."""
    served = await serve_site(tx, site)
    if served is None:
        return None
    rules_told = enumerate(await redirects.words(tx, site))
    parts: Records = {edge.redirects_key(served.region, site, part): words for part, words in rules_told}
    return Announcement(served.region, {**parts, **served.records})


async def every_site(tx: Tx, *, after: str, most: int) -> list[str]:
    return await store.served(tx, after=after, most=most)


async def withdraw(tx: Tx, env: str) -> Announcement | None:
    facts = await _announced(tx, env)
    return Announcement(facts.region, rules.gone(facts)) if facts else None


async def withdraw_site(tx: Tx, site: str) -> Announcement | None:
    """All environments of a site."""
    production = await environments.production(tx, site)
    others = [env.id for env in await environments.placed(tx, site) if env.id != production.id]
    found = [await withdraw(tx, env) for env in (production.id, *others)]
    gone = [announcement for announcement in found if announcement is not None]
    if not gone:
        return None
    records = {key: record for announcement in gone for key, record in announcement.records.items()}
    return Announcement(gone[0].region, records)


async def withdraw_redirects(tx: Tx, env: str) -> Announcement | None:
    facts = await _announced(tx, env)
    if facts is None:
        return None
    told = await redirects.most_parts(tx, facts.site_id)
    if not told:
        return None
    return Announcement(
        facts.region, {edge.redirects_key(facts.region, facts.site_id, part): None for part in range(told)}
    )


async def purge(tx: Tx, purge: edge.Purge) -> Announcement | None:
    facts = await _announced(tx, purge.environment)
    return Announcement(facts.region, {edge.purge_key(facts.region, purge): purge}) if facts else None


async def _announced(tx: Tx, env: str) -> Facts | None:
    facts = await store.facts(tx, env)
    return facts if facts is not None and facts.mode == "live" else None


async def _served(tx: Tx, facts: Facts, node: str) -> Records:
    settings = await configuration.of_environment(tx, facts.site_id, facts.id)
    secure = frozenset({host for host in facts.hosts if await certificates.is_served(tx, host)})
    return rules.served(facts, node, settings, await redirects.in_force(tx, facts.site_id), secure=secure)
