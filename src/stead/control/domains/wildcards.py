"""Wildcard domains: what they need besides a proof."""

from stead.control.dns_records import zones
from stead.control.domains.names import get_base
from stead.control.domains.rules import WildcardNeedsZone
from stead.control.engines.postgres import Tx
from stead.control.http.context import ApiContext
from stead.control.http.principal import Mode


async def require_zone(tx: Tx, site: str, hostname: str, mode: Mode, context: ApiContext) -> None:
    """An authority issues a certificate for a wildcard only if it is proved in the DNS, each time again. So
    the name servers of the platform must be those that are asked. The zones of test sites are not published.
    """
    reason = await _explain_missing_zone(tx, site, get_base(hostname), mode, context)
    if reason is not None:
        raise WildcardNeedsZone(hostname=hostname, reason=reason)


async def _explain_missing_zone(tx: Tx, site: str, base: str, mode: Mode, context: ApiContext) -> str | None:
    if not context.serves_dns:
        return "this installation serves no DNS zones."
    zone = await zones.find_zone(tx, site)
    if zone is None or not zone.contains(base):
        return (
            f"the site has no zone with {base}. Its zone is the domain of the site, without `www`; the first"
            " record creates it (`POST /v1/sites/{site_id}/dns/records`)."
        )
    if await zones.is_delegated_away(tx, site, base):
        return f"an NS record of the zone gives {base} to other name servers. Delete the record."
    if mode == "test":
        return None
    if not zone.is_published:
        return (
            f"the zone {zone.name} is not published yet. Attach {zone.name} to the site and prove it with the"
            " TXT record in its `challenge`."
        )
    if zone.delegation != "complete":
        servers = " and ".join(context.nameservers)
        return (
            f"{zone.name} is not delegated to the name servers of this platform only. Set {servers} as its"
            " name servers where the domain is registered. This is looked up every 5 minutes."
        )
    return None
