"""Publishes zones to the name server: those that were changed, and what the platform itself has in them."""

import ipaddress
from collections import defaultdict
from collections.abc import Sequence

import structlog

from stead.control.dns_records import store
from stead.control.dns_records.rules import ADDRESSES, DEFAULT_TTL, RETRY_AFTER, Record
from stead.control.dns_records.values import content_of
from stead.control.engines.postgres import Database, Tx
from stead.control.engines.powerdns import PowerDns, PowerDnsFailed, RecordSet

BATCH_SIZE = 50

log = structlog.get_logger()


class ZonePublisher:
    def __init__(self, database: Database, server: PowerDns, nameservers: Sequence[str]) -> None:
        self._database, self._server, self._nameservers = database, server, nameservers

    async def publish_due(self) -> int:
        """Returns how many zones were published. One that fails is tried again a little later."""
        async with self._database.transaction() as tx:
            due = await store.list_due(tx, limit=BATCH_SIZE)
            # Other workers leave them to this one meanwhile.
            await store.postpone(tx, [site for site, *_ in due], tx.now + RETRY_AFTER)
        published = 0
        for site, zone, version in due:
            try:
                await self._publish(site, zone, version)
                published += 1
            except PowerDnsFailed as failed:
                log.warning("dns.not_published", zone=zone, reason=str(failed))
        return published

    async def compare(self) -> int:
        """Withdraw zones whose site does not have the domain any more, and have those published again whose
        domains or edges are others now. Returns how many there were."""
        async with self._database.transaction() as tx:
            changed = await store.request_changed(tx)
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
            own = await store.get_own(tx, site)
            hosts = [host for host in await store.list_hosts(tx, site) if _is_in(host, zone)]
            # A record may be older than the domain that is there now.
            records = [
                each
                for each in await store.list_records(tx, site)
                if each.type not in ADDRESSES or each.name not in hosts
            ]
            records += await self._own_records(tx, site, hosts)
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

    async def _own_records(self, tx: Tx, site: str, hosts: Sequence[str]) -> list[Record]:
        """The addresses of the edges, for every domain of the site. At the top of a zone, too: a CNAME is not
        possible there."""
        addresses = []
        for text in await store.list_edge_addresses(tx, site):
            try:
                addresses.append(ipaddress.ip_address((text.rpartition(":")[0] or text).strip("[]")))
            except ValueError:
                continue
        return [
            Record("A" if address.version == 4 else "AAAA", host, str(address), DEFAULT_TTL)
            for host in hosts
            for address in addresses
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
