"""Records the progress of one claimed certificate; every write is refused once the lease is lost."""

import structlog

from stead.control.certificates import store
from stead.control.certificates.events import CERTIFICATE_FAILED, CERTIFICATE_ISSUED, CERTIFICATE_RENEWED
from stead.control.certificates.rules import (
    ORDER_STAYS_VALID,
    ORDERS_PERIOD,
    ClaimedCertificate,
    Issued,
    LeaseLost,
    OwnerLimitReached,
    Problem,
    compute_renewal_time,
    compute_retry_delay,
)
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Database, Tx
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.plans import service as plans
from stead.control.sealing import Sealer

log = structlog.get_logger()


class ProgressRecorder:
    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        claimed: ClaimedCertificate,
        lease_holder: str,
        orders_per_owner: int,
    ) -> None:
        self._database, self._sealer = database, sealer
        self.claimed, self._lease_holder = claimed, lease_holder
        self._orders_per_owner = orders_per_owner

    def get_placed_order(self) -> tuple[str, bytes] | None:
        """The URI and the private key of an order that an earlier attempt placed and did not finish."""
        claimed = self.claimed
        if claimed.order_uri is None or claimed.order_key is None:
            return None
        return claimed.order_uri, self._sealer.open(claimed.order_key, context=key_context(claimed.host))

    async def require_order(self) -> None:
        """The authority limits the orders of all sites together, so no owner may use them up. Renewals count,
        and never wait. Raises OwnerLimitReached."""
        if not self._orders_per_owner or self.claimed.chain is not None:
            return
        async with self._database.reading() as tx:
            count, oldest = await store.count_orders(tx, await self._find_owner(tx))
            now = tx.now
        if oldest is not None and count >= self._orders_per_owner:
            raise OwnerLimitReached(oldest + ORDERS_PERIOD - now)

    async def _find_owner(self, tx: Tx) -> str:
        account, team = await store.get_owner(tx, self.claimed.site_id)
        return await plans.resolve_quota_owner(tx, team or account or "")

    async def record_order(self, uri: str, key: bytes) -> None:
        sealed = self._sealer.seal(key, context=key_context(self.claimed.host))
        async with self._database.transaction() as tx:
            await store.add_order(tx, await self._find_owner(tx))
            _require(await store.record_order(tx, self.claimed, self._lease_holder, uri, sealed))

    async def record_challenge(self, record: str | None) -> None:
        async with self._database.transaction() as tx:
            _require(await store.record_challenge(tx, self.claimed, self._lease_holder, record))

    async def record_issued(self, issued: Issued) -> None:
        claimed = self.claimed
        sealed = self._sealer.seal(issued.key, context=key_context(claimed.host))
        event = CERTIFICATE_ISSUED if claimed.chain is None else CERTIFICATE_RENEWED
        async with self._database.transaction() as tx:
            _require(await store.record_issued(tx, claimed, self._lease_holder, issued, sealed))
            until = issued.expires_at.isoformat()
            await publish_event(
                tx, event, claimed.site_id, domain=claimed.host, ca=issued.ca, expires_at=until
            )
        log.info(event.type, host=claimed.host)

    async def record_publishing(self) -> int:
        """Record, before it happens, that the edges of the region receive the certificate. Returns the
        version of its record."""
        async with self._database.transaction() as tx:
            version = await announcements.next_version(tx, self.claimed.site_id)
            _require(await store.record_publishing(tx, self.claimed, self._lease_holder))
        return version

    async def record_published(self) -> None:
        async with self._database.transaction() as tx:
            _require(await store.record_published(tx, self.claimed, self._lease_holder))

    async def record_completed(self) -> None:
        """Schedule the renewal and release the lease."""
        async with self._database.transaction() as tx:
            issued_at, expires_at = await store.get_validity(tx, self.claimed.host)
            renewal = compute_renewal_time(issued_at, expires_at, now=tx.now)
            _require(await store.record_completed(tx, self.claimed, self._lease_holder, renewal))

    async def delete(self) -> None:
        async with self._database.transaction() as tx:
            await store.delete(tx, self.claimed.host, self._lease_holder)

    async def release(self) -> None:
        async with self._database.transaction() as tx:
            await store.release(tx, self.claimed.host, self._lease_holder)

    async def record_failure(self, problem: Problem) -> None:
        """The event is published when the failures begin or their reason changes, not for every attempt."""
        claimed = self.claimed
        async with self._database.transaction() as tx:
            is_attempt = not isinstance(problem, OwnerLimitReached)
            wait = problem.wait
            if is_attempt:
                wait = max(wait, compute_retry_delay(claimed.attempts + 1))
            retry_at = tx.now + wait
            keep_order = problem.reason in ORDER_STAYS_VALID
            recorded = await store.record_failure(
                *(tx, claimed, self._lease_holder, problem, retry_at),
                keep_order=keep_order,
                is_attempt=is_attempt,
            )
            if not recorded:
                await store.release(tx, claimed.host, self._lease_holder)
            elif is_attempt and not claimed.removed and problem.reason != claimed.error_code:
                facts = {"domain": claimed.host, "code": problem.reason, "reason": problem.message}
                await publish_event(tx, CERTIFICATE_FAILED, claimed.site_id, **facts)
        log.warning(
            "certificate.failed", host=claimed.host, reason=problem.reason, attempt=claimed.attempts + 1
        )


async def publish_event(tx: Tx, event: EventType, site: str, **facts: Fact) -> None:
    account, team = await store.get_owner(tx, site)
    await publish(tx, event, About(account_id=account, team_id=team, site_id=site), **facts)


def key_context(host: str) -> bytes:
    """The sealing context of a private key: it can be opened only for the host that it was made for."""
    return f"certificate:{host}".encode()


def account_context(directory: str) -> bytes:
    """The sealing context of the key of our account at an authority."""
    return f"acme-account:{directory}".encode()


def _require(recorded: bool) -> None:
    if not recorded:
        raise LeaseLost
