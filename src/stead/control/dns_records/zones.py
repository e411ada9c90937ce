"""What other features do with zones, each inside the caller's transaction."""

from stead.control.dns_records import store
from stead.control.dns_records.rules import CHALLENGE_LABEL, Zone
from stead.control.engines.postgres import Tx


async def find_zone(tx: Tx, site: str) -> Zone | None:
    return await store.find_zone(tx, site)


async def is_delegated_away(tx: Tx, site: str, name: str) -> bool:
    """Whether an NS record of the zone gives a name to other name servers."""
    return any(
        record.type == "NS" and (name == record.name or name.endswith(f".{record.name}"))
        for record in await store.list_records(tx, site)
    )


async def add_challenge(tx: Tx, site: str, domain: str, host: str, value: str) -> int | None:
    """Have the proof published that a certificate authority looks up before it issues a certificate for
    `host`. It replaces the one before. Returns the version of the zone that has it; None if the domain is in
    no published zone of the site."""
    await store.remove_challenge(tx, host)
    zone = await store.find_zone(tx, site)
    if zone is None or not zone.is_published or not zone.contains(domain):
        return None
    await store.insert_challenge(tx, site, host, f"{CHALLENGE_LABEL}.{domain}", value)
    return await store.count_change(tx, site)


async def remove_challenge(tx: Tx, host: str) -> None:
    await store.remove_challenge(tx, host)


async def is_published(tx: Tx, site: str, version: int) -> bool:
    """Whether the name servers have this version of the zone, or a later one."""
    zone = await store.find_zone(tx, site)
    return zone is not None and zone.published_version >= version
