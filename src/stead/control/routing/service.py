"""Announcements: what the edges of a region are to be told about an environment or a site."""

from stead.control.configuration import service as configuration
from stead.control.environments import service as environments
from stead.control.platform.database import Tx
from stead.control.platform.jobs import Announcement
from stead.control.redirects import service as redirects
from stead.control.routing import rules, store
from stead.control.routing.rules import Facts, Records
from stead.protocol import edge


async def serve(tx: Tx, env: str) -> Announcement | None:
    """How it is served now; nothing to announce where no edge knows it: a test site, or one on no node."""
    facts = await _announced(tx, env)
    if facts is None or facts.node_id is None:
        return None
    return Announcement(facts.region, await _served(tx, facts, facts.node_id))


async def serve_site(tx: Tx, site: str) -> Announcement | None:
    """All environments of a site, and the redirects they share."""
    found = [await _announced(tx, env) for env in await environments.carried(tx, site)]
    known = [facts for facts in found if facts is not None and facts.node_id is not None]
    if not known:
        return None
    region = known[0].region
    records: Records = {
        edge.redirects_key(region, site, part): words
        for part, words in enumerate(await redirects.words(tx, site))
    }
    for facts in known:
        records |= await _served(tx, facts, facts.node_id or "")
    return Announcement(region, records)


async def withdraw(tx: Tx, env: str) -> Announcement | None:
    facts = await _announced(tx, env)
    return Announcement(facts.region, rules.gone(facts)) if facts else None


async def withdraw_redirects(tx: Tx, env: str) -> Announcement | None:
    facts = await _announced(tx, env)
    if facts is None:
        return None
    told = len(await redirects.words(tx, facts.site_id))
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
    return rules.served(facts, node, settings, await redirects.in_force(tx, facts.site_id))
