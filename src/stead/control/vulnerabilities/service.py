"""The use cases of vulnerabilities, inside the caller's transaction."""

from collections.abc import Sequence

from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.sites.rules import VisibleSite
from stead.control.vulnerabilities import store
from stead.control.vulnerabilities.rules import InventoryStatus
from stead.control.vulnerabilities.schema import (
    UnknownComponent,
    VulnerabilitiesView,
    VulnerabilitySummary,
    VulnerabilityView,
)
from stead.protocol.work.cms import AffectedVersions
from stead.protocol.work.scanning import Component

MAX_FINDINGS, MAX_FIXED, MAX_RANGES = 500, 1000, 200


async def record_inventory(tx: Tx, site: str, env: str, components: Sequence[Component]) -> None:
    """The environment has exactly these components. What is vulnerable of them is known at once."""
    if components:
        await store.replace_components(tx, site, env, components)
        await store.remove_fixed(tx, env, kept=MAX_FIXED)


async def list_affected(tx: Tx, type_: str, slug: str) -> list[AffectedVersions]:
    """The versions of a plugin or theme that have a known vulnerability."""
    return await store.list_affected(tx, type_, slug.lower(), limit=MAX_RANGES)


async def view(tx: Tx, site: VisibleSite) -> VulnerabilitiesView:
    env = (await environments.get_production(tx, site.id)).id
    feed, counts = await store.find_feed(tx), await store.count_ratings(tx, env)
    unknown = await store.list_unknown(tx, env, limit=MAX_FINDINGS)
    taken = await store.get_inventory(tx, env)
    status: InventoryStatus = "missing" if taken is None else "unknown_versions" if unknown else "complete"
    return VulnerabilitiesView(
        VulnerabilitySummary(
            counts.get("critical", 0),
            counts.get("high", 0),
            counts.get("medium", 0),
            counts.get("low", 0),
            sum(counts.values()),
            feed.fetched_at if feed else None,
            status,
            taken,
            feed.error if feed else None,
        ),
        [
            VulnerabilityView(
                *(each.id, each.title, each.type, each.name, each.slug, each.version, each.label),
                *(each.fixed_version, each.patched, each.score, each.rating, each.cve, each.remediation),
                *(each.record_url, each.copyrights, each.opened_at),
            )
            for each in await store.list_findings(tx, env, limit=MAX_FINDINGS)
        ],
        [UnknownComponent(*each) for each in unknown],
        feed.attribution if feed else {},
    )
