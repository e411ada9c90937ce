"""Looks up whether the domains of published zones are delegated to the name servers of the platform."""

import asyncio
from collections.abc import Sequence

import structlog

from stead.control.dns_records import store
from stead.control.dns_records.rules import CHECK_LATER, CHECK_SOON, find_delegation
from stead.control.engines.dns_records import DnsRecords, DnsUnanswered
from stead.control.engines.postgres import Database

BATCH_SIZE = 16

log = structlog.get_logger()


class DelegationChecker:
    def __init__(self, database: Database, resolver: DnsRecords, nameservers: Sequence[str]) -> None:
        self._database, self._resolver, self._nameservers = database, resolver, nameservers

    async def check_due(self) -> int:
        """Returns how many domains were looked up. One that is not answered is tried again a little later."""
        async with self._database.transaction() as tx:
            due = await store.claim_to_check(tx, tx.now + CHECK_SOON, limit=BATCH_SIZE)
        await asyncio.gather(*(self._check(site, zone) for site, zone in due))
        return len(due)

    async def _check(self, site: str, zone: str) -> None:
        try:
            found = await self._resolver.find_nameservers(zone)
        except DnsUnanswered:
            log.info("dns.delegation_unknown", zone=zone)
            return
        delegation = find_delegation(found, self._nameservers)
        async with self._database.transaction() as tx:
            later = CHECK_LATER if delegation == "complete" else CHECK_SOON
            await store.record_delegation(tx, site, delegation, tx.now + later)
