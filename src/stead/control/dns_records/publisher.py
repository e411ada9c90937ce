"""Publishes zones to the name server: those that were changed, and what the platform itself has in them."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

import structlog

from stead.control.certificates.preflight import Preflight
from stead.control.dns_records import store
from stead.control.dns_records.rules import (
    ADDRESSES,
    CHALLENGES_KEPT,
    DEFAULT_TTL,
    LEASE,
    RETRY_AFTER,
    Record,
)
from stead.control.dns_records.values import content_of
from stead.control.engines.postgres import Database
from stead.control.engines.powerdns import PowerDns, PowerDnsFailed, RecordSet

BATCH_SIZE, AT_ONCE = 40, 8
"""A large zone, or one that the name server is slow with, does not delay all others."""

log = structlog.get_logger()


class ZonePublisher:
    """`edges` are the addresses that the operator has named. What nodes say about themselves is not
    published: it would be in the zones of all customers."""

    def __init__(
        self, database: Database, server: PowerDns, nameservers: Sequence[str], edges: Preflight
    ) -> None:
        self._database, self._server, self._nameservers = database, server, nameservers
        self._edges = edges

    async def publish_due(self) -> int:
        """Returns how many zones were published. One that fails is tried again a little later."""
        async with self._database.transaction() as tx:
            due = await store.claim_due(tx, tx.now + LEASE, limit=BATCH_SIZE)
        places = asyncio.Semaphore(AT_ONCE)
        return sum(await asyncio.gather(*(self._try_to_publish(places, *each) for each in due)))

    async def _try_to_publish(self, places: asyncio.Semaphore, site: str, zone: str, version: int) -> bool:
        async with places:
            try:
                await self._publish(site, zone, version)
            except PowerDnsFailed as failed:
                log.warning("dns.not_published", zone=zone, reason=str(failed))
                async with self._database.transaction() as tx:
                    await store.release(tx, site, tx.now + RETRY_AFTER)
                return False
        return True

    async def compare(self) -> int:
        """Withdraw zones whose site does not have the domain any more, and have those published again whose
        domains or edges are others now. Returns how many there were."""
        async with self._database.transaction() as tx:
            edges = {region: self._list_edges(region) for region in await store.list_regions(tx)}
            await store.remove_old_challenges(tx, tx.now - CHALLENGES_KEPT)
            changed = await store.request_changed(tx, edges)
            abandoned = await store.list_abandoned(tx, limit=BATCH_SIZE)
            await store.postpone(tx, [site for site, _ in abandoned], tx.now + RETRY_AFTER)
        for site, zone in abandoned:
            try:
                await self._withdraw(site, zone)
            except PowerDnsFailed as failed:
                log.warning("dns.not_withdrawn", zone=zone, reason=str(failed))
        async with self._database.transaction() as tx:
            await store.delete_old(tx, limit=BATCH_SIZE)
        return changed + len(abandoned)

    async def _publish(self, site: str, zone: str, version: int) -> None:
        async with self._database.reading() as tx:
            region = await store.get_region(tx, site)
            own = await store.get_own(tx, site, self._list_edges(region))
            hosts = [host for host in await store.list_hosts(tx, site) if _is_in(host, zone)]
            # A record may be older than the domain that is there now.
            records = [
                each
                for each in await store.list_records(tx, site)
                if each.type not in ADDRESSES or each.name not in hosts
            ]
            records += self._own_records(region, hosts)
            records += await store.list_challenges(tx, site)
        await self._server.replace_zone(zone, _sets(records), self._nameservers)
        async with self._database.transaction() as tx:
            await store.mark_published(tx, site, version, own)

    async def _withdraw(self, site: str, zone: str) -> None:
        async with self._database.reading() as tx:
            is_served = await store.is_published_by_another(tx, site, zone)
        if not is_served:
            await self._server.delete_zone(zone)
        async with self._database.transaction() as tx:
            await store.mark_withdrawn(tx, site, zone)

    def _list_edges(self, region: str) -> str:
        return " ".join(str(each) for each in self._edges.list_addresses(region))

    def _own_records(self, region: str, hosts: Sequence[str]) -> list[Record]:
        """The addresses of the edges, for every domain of the site. At the top of a zone, too: a CNAME is not
        possible there."""
        return [
            Record("A" if address.version == 4 else "AAAA", host, str(address), DEFAULT_TTL)
            for host in hosts
            for address in self._edges.list_addresses(region)
        ]


def _is_in(host: str, zone: str) -> bool:
    return host == zone or host.endswith(f".{zone}")


def _sets(records: Sequence[Record]) -> list[RecordSet]:
    """Records of one name and type have one TTL: the shortest."""
    grouped: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        grouped[f"{record.name}.", record.type].append(record)
    return [
        RecordSet(
            *(name, type_, min(each.ttl for each in group)),
            tuple(sorted({content_of(each) for each in group})),
        )
        for (name, type_), group in sorted(grouped.items())
    ]
