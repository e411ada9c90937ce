"""Looks up the TXT records of domains that are verified because they point here, and that have a zone.

That a name points here proves that it may be served, not that its DNS may be: the name may point here because
of somebody else.
"""

import asyncio

import structlog

from stead.control.dns_records import store
from stead.control.dns_records.rules import PROVE_AGAIN
from stead.control.domains import service as domains
from stead.control.domains.rules import challenge_name
from stead.control.engines.dns_records import DnsRecords, DnsUnanswered
from stead.control.engines.postgres import Database

BATCH_SIZE = 16

log = structlog.get_logger()


class ZoneProver:
    def __init__(self, database: Database, resolver: DnsRecords) -> None:
        self._database, self._resolver = database, resolver

    async def check_due(self) -> int:
        """Returns how many domains were looked up."""
        async with self._database.transaction() as tx:
            due = await store.claim_to_prove(tx, tx.now + PROVE_AGAIN, limit=BATCH_SIZE)
        await asyncio.gather(*(self._check(*each) for each in due))
        return len(due)

    async def _check(self, site: str, zone: str, domain: str, challenge: str) -> None:
        try:
            texts = await self._resolver.find_texts(challenge_name(zone))
        except DnsUnanswered:
            log.info("dns.proof_unknown", zone=zone)
            return
        if challenge in (text.strip() for text in texts):
            async with self._database.transaction() as tx:
                await domains.record_proof(tx, domain)
                await store.postpone(tx, [site], tx.now)
