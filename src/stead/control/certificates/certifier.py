"""The worker's part: takes what is due, a few at once; what it leaves half done, another can end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from stead.control.certificates import store
from stead.control.certificates.attempt import Attempt, context_of, tell_of
from stead.control.certificates.authority import AccountUnknown, Authority, new_key
from stead.control.certificates.edges import EdgeDoor, EdgesSilent, region_of
from stead.control.certificates.events import CERTIFICATE_EXPIRED
from stead.control.certificates.issuing import Issuing
from stead.control.certificates.preflight import Preflight
from stead.control.certificates.rules import (
    ATTEMPT_SECONDS,
    LEASE,
    Issued,
    LeaseLost,
    Problem,
    Wish,
)
from stead.control.engines.postgres import UNREACHABLE, Database
from stead.control.sealing import Sealer
from stead.control.tasks import PeriodicTask, Task
from stead.protocol.edge import Certificate, Record, certificate_key
from stead.shared.ids import new_id

log = structlog.get_logger()

HANDS = 8
"""Certificates that one worker sees to at a time."""

Refreshed = Callable[[str], Awaitable[None]]
"""Publishes the edge records of a site anew: whether its domain has a certificate is in them."""


@dataclass(frozen=True, slots=True)
class AuthorityAt:
    """Which authority to ask, as whom. `trust` is a file with the root of one that is not public."""

    directory: str
    email: str = ""
    trust: str = ""


class Certifier:
    def __init__(
        self,
        database: Database,
        sealer: Sealer,
        authority: AuthorityAt,
        *,
        preflight: Preflight,
        door: EdgeDoor,
        refreshed: Refreshed,
    ) -> None:
        self._database, self._sealer, self._authority = database, sealer, authority
        self._preflight, self._door, self._refreshed = preflight, _Careful(door), refreshed

    def tasks(self) -> list[Task]:
        workers = [PeriodicTask(f"certificates.work.{number}", 2, self.work) for number in range(HANDS)]
        return [PeriodicTask("certificates.watch", 1, self.watch), *workers]

    async def watch(self) -> None:
        """Puts new hosts in line and says of which certificates the end has passed."""
        async with self._database.transaction() as tx:
            await store.enroll(tx)
            ended = await store.ended(tx)
        for host, site in ended:
            # First the records, which go by the clock: were this worker to die here, another would repeat it.
            await self._refreshed(site)
            async with self._database.transaction() as tx:
                if await store.expire(tx, host):
                    await tell_of(tx, CERTIFICATE_EXPIRED, site, domain=host)
            log.warning("certificate.expired", host=host)

    async def work(self) -> int:
        """See to what is due, one after the other, until nothing is. Says how many it were."""
        done = 0
        while await self._next():
            done += 1
        return done

    async def _next(self) -> bool:
        holder = new_id("hand")
        async with self._database.transaction() as tx:
            wish = await store.claim(tx, holder, tx.now + LEASE)
        if wish is None:
            return False
        attempt = Attempt(self._database, self._sealer, wish, holder)
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS) as limit:
                await self._see_to(attempt)
        except Problem as problem:
            await attempt.failed(problem)
        except EdgesSilent:
            await attempt.failed(
                Problem("edges", "Not every edge of the site's region could be told. This is ours to mend.")
            )
        except LeaseLost:
            await attempt.released()
        except asyncio.CancelledError:
            # A worker that stops in order does not make others wait for the lease.
            with contextlib.suppress(*UNREACHABLE):
                await attempt.released()
            raise
        except Exception as error:
            if isinstance(error, UNREACHABLE) and not isinstance(error, TimeoutError):
                raise
            await attempt.failed(_LATE if limit.expired() else _fault(wish, error))
        return True

    async def _see_to(self, attempt: Attempt) -> None:
        wish = attempt.wish
        if wish.told_region is not None and (wish.forgotten or wish.told_region != wish.region):
            await self._hide(certificate_key(wish.told_region, wish.host))
        if wish.forgotten:
            if wish.challenge is not None:
                await self._hide(wish.challenge)
            await attempt.removed()
        elif wish.stage in ("stored", "told") and wish.chain is not None and wish.sealed_key is not None:
            key = self._sealer.open(wish.sealed_key, context=context_of(wish))
            await self._deliver(attempt, wish.chain, key, told=wish.stage == "told")
        else:
            await self._preflight.check(wish.host, wish.region)
            issued = await self._issue(attempt)
            await attempt.issued(issued)
            await self._deliver(attempt, issued.chain, issued.key, told=False)

    async def _hide(self, key: str) -> None:
        await self._door.tell(region_of(key), {key: None})

    async def _deliver(self, attempt: Attempt, chain: str, key: bytes, *, told: bool) -> None:
        wish = attempt.wish
        if not told:
            sealed = self._door.seal(wish.region, wish.host, key)
            record = Certificate(chain, sealed)
            await attempt.telling()
            await self._door.tell(wish.region, {certificate_key(wish.region, wish.host): record})
            await attempt.told()
        try:
            await self._refreshed(wish.site_id)
        except (OSError, TimeoutError):
            raise EdgesSilent from None
        await attempt.settled()

    async def _issue(self, attempt: Attempt) -> Issued:
        """An authority that lost our account, or never had it, is told of it and asked once more."""
        async with self._conversation() as authority:
            try:
                return await self._issuing(attempt, authority, attempt.order()).certificate()
            except AccountUnknown:
                await self._register(authority)
                return await self._issuing(attempt, authority, None).certificate()

    def _issuing(self, attempt: Attempt, authority: Authority, order: tuple[str, bytes] | None) -> Issuing:
        return Issuing(attempt.wish, authority, door=self._door, journal=attempt, order=order)

    @asynccontextmanager
    async def _conversation(self) -> AsyncIterator[Authority]:
        directory = self._authority.directory
        context = f"acme-account:{directory}".encode()
        async with self._database.transaction() as tx:
            account = await store.account(tx, directory)
            if account is None:
                await store.add_account(tx, directory, self._sealer.seal(new_key(), context=context))
                account = await store.account(tx, directory)
        if account is None:
            raise LookupError("the account is gone")
        sealed_key, uri = account
        key = self._sealer.open(sealed_key, context=context)
        authority = Authority(directory, key, uri=uri, trust=self._authority.trust)
        try:
            if uri is None:
                await self._register(authority)
            yield authority
        finally:
            authority.close()

    async def _register(self, authority: Authority) -> None:
        uri = await authority.register(self._authority.email)
        async with self._database.transaction() as tx:
            await store.note_registration(tx, self._authority.directory, uri)
        log.info("acme.registered", directory=self._authority.directory)


_LATE = Problem("ca_unreachable", "The certificate authority has not finished in time. It is asked again.")


def _fault(wish: Wish, error: Exception) -> Problem:
    """A bug, or something that nobody foresaw: its message may quote a secret."""
    log.error("certificate.fault", host=wish.host, error=type(error).__name__)
    return Problem("internal", "Something failed on our side. It is tried again by itself.")


class _Careful:
    """The door to the edges. What keeps it shut is never taken for our database being away."""

    def __init__(self, door: EdgeDoor) -> None:
        self._door = door

    async def tell(self, region: str, records: Mapping[str, Record | None]) -> None:
        try:
            await self._door.tell(region, records)
        except (OSError, TimeoutError):
            raise EdgesSilent from None

    def seal(self, region: str, host: str, key: bytes) -> str:
        return self._door.seal(region, host, key)
