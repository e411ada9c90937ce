"""The certifier: issues, renews and removes certificates that are due. Another worker can finish its work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from stead.control.certificates import store
from stead.control.certificates.acme_client import AccountUnknown, AcmeClient, generate_key
from stead.control.certificates.challenges import Challenges
from stead.control.certificates.edge_publisher import (
    EdgePublisher,
    EdgesNotUpdated,
    ErrorTranslatingPublisher,
    region_of,
)
from stead.control.certificates.events import CERTIFICATE_EXPIRED
from stead.control.certificates.issuance import Issuance
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.progress import ProgressRecorder, account_context, key_context, publish_event
from stead.control.certificates.renewal_check import PERIOD_SECONDS, RenewalChecker
from stead.control.certificates.rules import (
    ATTEMPT_SECONDS,
    LEASE,
    ClaimedCertificate,
    Issued,
    LeaseLost,
    Problem,
)
from stead.control.domains.names import is_wildcard
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.sealing import Sealer
from stead.control.tasks import PeriodicTask, Task
from stead.protocol.edge_records import CertificateRecord, certificate_key, name_of_host
from stead.shared.ids import new_id

log = structlog.get_logger()

CONCURRENCY = 8
"""Certificates that one worker processes at a time."""

RefreshSite = Callable[[str], Awaitable[None]]
"""Publishes the edge records of a site again: they say which of its hosts have a certificate."""


@dataclass(frozen=True, slots=True)
class AuthoritySettings:
    """Which authority to use. `trust` is a file with the root certificate of a private authority."""

    directory: str
    email: str = ""
    trust: str = ""
    orders_per_owner: int = 0
    """Within `ORDERS_PERIOD`; 0 for any number."""


class Certifier:
    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        authority: AuthoritySettings,
        *,
        preflight: Preflight,
        publisher: EdgePublisher,
        refresh_site: RefreshSite,
    ) -> None:
        self._database, self._sealer, self._authority = database, sealer, authority
        self._preflight, self._refresh_site = preflight, refresh_site
        self._publisher = ErrorTranslatingPublisher(publisher)
        self._challenges = Challenges(database, self._publisher)
        self.renewal_checker = RenewalChecker(database, self._connect_without_account)

    def tasks(self) -> list[Task]:
        workers = [
            PeriodicTask(f"certificates.work.{number}", 2, self.process_due) for number in range(CONCURRENCY)
        ]
        return [
            PeriodicTask("certificates.watch", 1, self.enroll_and_expire),
            PeriodicTask("certificates.orders", 600, self.delete_old_orders),
            PeriodicTask("certificates.renewal_checks", PERIOD_SECONDS, self.renewal_checker.check_batch),
            *workers,
        ]

    async def enroll_and_expire(self) -> None:
        """Queue new hosts for their first attempt, and mark the certificates that have expired."""
        async with self._database.transaction() as tx:
            await store.enroll(tx)
            expired = await store.list_expired(tx)
        for host, site in expired:
            # Publish first (the records depend on the clock, not on the state): if this worker dies here,
            # another repeats both.
            await self._refresh_site(site)
            async with self._database.transaction() as tx:
                if await store.mark_expired(tx, host):
                    await publish_event(tx, CERTIFICATE_EXPIRED, site, domain=host)
            log.warning("certificate.expired", host=host)

    async def delete_old_orders(self) -> None:
        async with self._database.transaction() as tx:
            await store.delete_old_orders(tx)

    async def process_due(self) -> int:
        """Process certificates one after the other until none is due. Returns how many there were."""
        processed = 0
        while await self._process_next():
            processed += 1
        return processed

    async def _process_next(self) -> bool:
        lease_holder = new_id("lease")
        async with self._database.transaction() as tx:
            claimed = await store.claim(tx, lease_holder, tx.now + LEASE)
        if claimed is None:
            return False
        recorder = ProgressRecorder(
            self._database, self._sealer, claimed, lease_holder, self._authority.orders_per_owner
        )
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS) as limit:
                await self._process(recorder)
        except Problem as problem:
            await recorder.record_failure(problem)
        except EdgesNotUpdated:
            await recorder.record_failure(_EDGES_NOT_UPDATED)
        except LeaseLost:
            await recorder.release()
        except asyncio.CancelledError:
            # A worker that is stopped does not make others wait for its lease to end.
            with contextlib.suppress(*DATABASE_UNREACHABLE):
                await recorder.release()
            raise
        except Exception as error:
            if isinstance(error, DATABASE_UNREACHABLE) and not isinstance(error, TimeoutError):
                raise
            await recorder.record_failure(_TIMED_OUT if limit.expired() else _log_fault(claimed, error))
        return True

    async def _process(self, recorder: ProgressRecorder) -> None:
        claimed, published = recorder.claimed, recorder.claimed.published_region
        if published is not None and (claimed.removed or published != claimed.region):
            await self._withdraw(certificate_key(published, claimed.host))
        if claimed.removed:
            if claimed.challenge is not None:
                await self._challenges.withdraw(claimed.challenge)
            await recorder.delete()
        elif claimed.stage in ("stored", "told") and claimed.chain and claimed.sealed_key:
            key = self._sealer.open(claimed.sealed_key, context=key_context(claimed.host))
            await self._publish(recorder, claimed.chain, key, is_published=claimed.stage == "told")
        else:
            # A wildcard is proved in its zone, wherever names below it point.
            if is_wildcard(claimed.host):
                await self._challenges.require_zone(claimed)
            else:
                await self._preflight.check(claimed.host, claimed.region)
            issued = await self._issue(recorder)
            await recorder.record_issued(issued)
            await self._publish(recorder, issued.chain, issued.key, is_published=False)

    async def _withdraw(self, key: str) -> None:
        await self._publisher.publish(region_of(key), {key: None})

    async def _publish(
        self, recorder: ProgressRecorder, chain: str, key: bytes, *, is_published: bool
    ) -> None:
        claimed = recorder.claimed
        if not is_published:
            sealed_key = self._publisher.seal_key(claimed.region, name_of_host(claimed.host), key)
            record = CertificateRecord(chain, sealed_key)
            version = await recorder.record_publishing()
            key_ = certificate_key(claimed.region, claimed.host)
            await self._publisher.publish(claimed.region, {key_: record}, version=version)
            await recorder.record_published()
        try:
            await self._refresh_site(claimed.site_id)
        except (OSError, TimeoutError):
            raise EdgesNotUpdated from None
        await recorder.record_completed()

    async def _issue(self, recorder: ProgressRecorder) -> Issued:
        """If the authority does not know our account, register it and try once more."""
        async with self._connect() as acme:
            try:
                placed_order = recorder.get_placed_order()
                return await self._issuance(recorder, acme, placed_order).obtain_certificate()
            except AccountUnknown:
                await self._register(acme)
                return await self._issuance(recorder, acme, None).obtain_certificate()

    def _issuance(
        self, recorder: ProgressRecorder, acme: AcmeClient, placed_order: tuple[str, bytes] | None
    ) -> Issuance:
        return Issuance(
            recorder.claimed, acme, challenges=self._challenges, recorder=recorder, placed_order=placed_order
        )

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[AcmeClient]:
        """A client with our account at the authority, which is created and registered on first use."""
        directory = self._authority.directory
        context = account_context(directory)
        async with self._database.transaction() as tx:
            account = await store.get_account(tx, directory)
            if account is None:
                await store.add_account(tx, directory, self._sealer.seal(generate_key(), context=context))
                account = await store.get_account(tx, directory)
        if account is None:
            raise LookupError("the ACME account was deleted")
        sealed_key, uri = account
        key = self._sealer.open(sealed_key, context=context)
        acme = AcmeClient(directory, key, uri=uri, trust=self._authority.trust)
        try:
            if uri is None:
                await self._register(acme)
            yield acme
        finally:
            acme.close()

    def _connect_without_account(self) -> AcmeClient:
        return AcmeClient(self._authority.directory, generate_key(), uri=None, trust=self._authority.trust)

    async def _register(self, acme: AcmeClient) -> None:
        uri = await acme.register(self._authority.email)
        async with self._database.transaction() as tx:
            await store.record_registration(tx, self._authority.directory, uri)
        log.info("acme.registered", directory=self._authority.directory)


_TIMED_OUT = Problem(
    "ca_unreachable", "The certificate authority has not finished in time. The request is retried."
)
_EDGES_NOT_UPDATED = Problem(
    "edges",
    "Not every edge server of the site's region could be updated. The operator of this platform has to fix"
    " this.",
)


def _log_fault(claimed: ClaimedCertificate, error: Exception) -> Problem:
    """Handle an unexpected error. Its message is not logged, because it may contain a secret."""
    log.error("certificate.fault", host=claimed.host, error=type(error).__name__)
    return Problem("internal", "An internal error occurred. The request is retried automatically.")
