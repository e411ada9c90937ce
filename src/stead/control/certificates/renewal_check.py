"""Asks the certificate authority when to renew issued certificates (ACME Renewal Information, RFC 9773).

An authority that has to revoke certificates suggests an earlier renewal, so that they are replaced in time.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import structlog

from stead.control.certificates import store
from stead.control.certificates.acme_client import AcmeClient
from stead.control.certificates.rules import Problem, apply_renewal_window, compute_check_delay
from stead.control.certificates.store import RenewalCheck
from stead.control.engines.postgres import Database

log = structlog.get_logger()

PERIOD_SECONDS = 15
BATCH = 20
"""Certificates per batch, asked one after the other: up to 4,800 per worker and hour."""
BATCH_SECONDS = 60
LEASE = timedelta(seconds=90)
"""Longer than a batch can take. What a worker did not finish is due again when its lease ends."""


class RenewalChecker:
    """`connect` returns a client without an account: renewal information is public."""

    def __init__(self, database: Database, connect: Callable[[], AcmeClient]) -> None:
        self._database, self._connect = database, connect

    async def check_batch(self) -> int:
        """Ask about the certificates that are due for a check. Returns how many answers were recorded."""
        async with self._database.transaction() as tx:
            due = await store.claim_renewal_checks(tx, BATCH, tx.now + LEASE)
        if not due:
            return 0
        recorded = 0
        acme = self._connect()
        try:
            async with asyncio.timeout(BATCH_SECONDS) as limit:
                for check in due:
                    recorded += await self._check(acme, check)
        except TimeoutError:
            if not limit.expired():
                raise
            log.warning("certificate.renewal_checks_slow", recorded=recorded, due=len(due))
        finally:
            acme.close()
        return recorded

    async def _check(self, acme: AcmeClient, check: RenewalCheck) -> bool:
        """Without a usable answer, the certificate is renewed when it was planned."""
        window = None
        try:
            window, wait = await acme.get_renewal_window(check.chain)
        except Problem as problem:
            wait = problem.wait
            log.info("certificate.renewal_check_failed", host=check.host, reason=problem.reason)
        async with self._database.transaction() as tx:
            renewal = apply_renewal_window(window, check.planned, seed=check.chain, now=tx.now)
            recorded = await store.record_renewal_check(
                tx, check, renewal, tx.now + compute_check_delay(wait)
            )
        if recorded and renewal < check.planned:
            log.info("certificate.renewal_moved", host=check.host, renewal=renewal.isoformat())
        return recorded
