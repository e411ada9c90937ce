"""The verifier: looks pending names up, announces verified ones, and withdraws those that were given up.

Any number of workers share the work. A worker leases one domain at a time; if it dies, another continues when
the lease has ended.
"""

import structlog

from stead.control.certificates.edge_publisher import EdgesNotUpdated
from stead.control.certificates.feed_publisher import announce_records
from stead.control.domains import service, store
from stead.control.domains.names import get_registrable_domain
from stead.control.domains.proof import Finding, ProofChecker
from stead.control.domains.rules import GIVE_UP, LEASE, PUBLISH_AGAIN, Claim, compute_delay
from stead.control.edge_feed import announcements
from stead.control.edge_feed.announcer import Announcer
from stead.control.engines.postgres import Database
from stead.control.jobs.definition import Announcement
from stead.control.tasks import PeriodicTask, Task

log = structlog.get_logger()

CONCURRENCY = 8
"""Names that one worker looks up at a time."""
PLATFORM_NAME = "it is under a domain of this platform"


class Verifier:
    """`checker` is None if names need no proof. `platform` lists names of the platform."""

    def __init__(
        self,
        database: Database,
        announcer: Announcer,
        checker: ProofChecker | None,
        *,
        platform: frozenset[str] = frozenset(),
    ) -> None:
        self._database, self._announcer, self._checker = database, announcer, checker
        self._platform = {get_registrable_domain(name) for name in platform} - {None}

    def tasks(self) -> list[Task]:
        return [
            PeriodicTask(f"domains.verify.{number}", 1, self.process_due) for number in range(CONCURRENCY)
        ]

    async def process_due(self) -> int:
        """Process domains one after the other until none is due. Returns how many there were."""
        processed = 0
        while await self._process_next():
            processed += 1
        return processed

    async def _process_next(self) -> bool:
        async with self._database.transaction() as tx:
            claim = await store.claim_due(tx, tx.now + LEASE)
        if claim is None:
            return False
        try:
            if claim.is_released:
                await self._withdraw(claim)
            elif claim.status == "verified":
                await self._announce(claim)
            else:
                await self._look_up(claim)
        except EdgesNotUpdated:
            log.warning("domain.not_announced", hostname=claim.hostname)
            async with self._database.transaction() as tx:
                await store.postpone(tx, claim, tx.now + PUBLISH_AGAIN)
        return True

    async def _look_up(self, claim: Claim) -> None:
        finding = await self._check(claim)
        async with self._database.transaction() as tx:
            if finding.is_proved:
                verified = await service.complete_verification(tx, claim.id, by_record=finding.by_record)
            else:
                verified = None
                if tx.now >= claim.pending_since + GIVE_UP:
                    await service.fail(tx, claim, finding.reason)
            if verified is None:
                reason = finding.reason or claim.reason or ""
                await store.record_attempt(tx, claim, reason, tx.now + compute_delay(claim.attempts + 1))
        if verified is not None:
            log.info("domain.verified", hostname=verified.hostname)
            await self._announce(verified)

    async def _check(self, claim: Claim) -> Finding:
        if self._checker is None:
            return Finding(True, by_record=True)
        async with self._database.reading() as tx:
            needed = await service.explain_challenge(tx, claim)
        if needed is None and get_registrable_domain(claim.hostname) in self._platform:
            needed = PLATFORM_NAME
        return await self._checker.check(claim, needed)

    async def _announce(self, claim: Claim) -> None:
        """Tell the edges about a verified name. If this worker dies before, another does."""
        async with self._database.transaction() as tx:
            announcement = await announcements.serve_environment(tx, claim.env_id)
        await self._publish(announcement)
        async with self._database.transaction() as tx:
            await store.postpone(tx, claim, None)

    async def _withdraw(self, claim: Claim) -> None:
        async with self._database.transaction() as tx:
            withdrawal = await announcements.withdraw_names(tx, [claim])
        await self._publish(withdrawal)
        async with self._database.transaction() as tx:
            await store.postpone(tx, claim, None)

    async def _publish(self, announcement: Announcement | None) -> None:
        """A job may publish the same environment meanwhile; the version decides which is newer."""
        if announcement is not None:
            await announce_records(
                self._announcer, announcement.region, announcement.records, version=announcement.version
            )
