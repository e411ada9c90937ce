"""One claimed wish, and what is written down about it; every note is refused once the lease is lost."""

import structlog

from stead.control.certificates import store
from stead.control.certificates.events import CERTIFICATE_FAILED, CERTIFICATE_ISSUED, CERTIFICATE_RENEWED
from stead.control.certificates.rules import (
    ORDER_GOES_ON,
    Issued,
    LeaseLost,
    Problem,
    Wish,
    pause_after,
    renewal_of,
)
from stead.control.engines.postgres import Database, Tx
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, Fact, publish
from stead.control.sealing import Sealer

log = structlog.get_logger()


class Attempt:
    def __init__(self, database: Database, sealer: Sealer, wish: Wish, holder: str) -> None:
        self._database, self._sealer, self.wish, self._holder = database, sealer, wish, holder

    def order(self) -> tuple[str, bytes] | None:
        wish = self.wish
        if wish.order_uri is None or wish.order_key is None:
            return None
        return wish.order_uri, self._sealer.open(wish.order_key, context=context_of(wish))

    async def ordered(self, uri: str | None, key: bytes | None) -> None:
        sealed = None if key is None else self._sealer.seal(key, context=context_of(self.wish))
        async with self._database.transaction() as tx:
            _require(await store.note_order(tx, self.wish, self._holder, uri, sealed))

    async def challenged(self, record: str | None) -> None:
        async with self._database.transaction() as tx:
            _require(await store.note_challenge(tx, self.wish, self._holder, record))

    async def issued(self, issued: Issued) -> None:
        wish = self.wish
        sealed = self._sealer.seal(issued.key, context=context_of(wish))
        event = CERTIFICATE_ISSUED if wish.chain is None else CERTIFICATE_RENEWED
        async with self._database.transaction() as tx:
            _require(await store.note_issued(tx, wish, self._holder, issued, sealed))
            until = issued.expires_at.isoformat()
            await tell_of(tx, event, wish.site_id, domain=wish.host, ca=issued.ca, expires_at=until)
        log.info(event.type, host=wish.host)

    async def telling(self) -> None:
        async with self._database.transaction() as tx:
            _require(await store.note_telling(tx, self.wish, self._holder))

    async def told(self) -> None:
        async with self._database.transaction() as tx:
            _require(await store.note_told(tx, self.wish, self._holder))

    async def settled(self) -> None:
        async with self._database.transaction() as tx:
            issued_at, expires_at = await store.life_of(tx, self.wish.host)
            renewal = renewal_of(issued_at, expires_at, now=tx.now)
            _require(await store.settle(tx, self.wish, self._holder, renewal))

    async def removed(self) -> None:
        async with self._database.transaction() as tx:
            await store.remove(tx, self.wish.host, self._holder)

    async def released(self) -> None:
        async with self._database.transaction() as tx:
            await store.release(tx, self.wish.host, self._holder)

    async def failed(self, problem: Problem) -> None:
        """Told when it begins to fail, or fails for another reason; not at every attempt."""
        wish = self.wish
        async with self._database.transaction() as tx:
            again = tx.now + max(pause_after(wish.attempts + 1), problem.wait)
            goes_on = problem.reason in ORDER_GOES_ON
            noted = await store.note_failure(tx, wish, self._holder, problem, again, order_goes_on=goes_on)
            if not noted:
                await store.release(tx, wish.host, self._holder)
            elif not wish.forgotten and problem.reason != wish.error_code:
                facts = {"domain": wish.host, "code": problem.reason, "reason": problem.sentence}
                await tell_of(tx, CERTIFICATE_FAILED, wish.site_id, **facts)
        log.warning("certificate.failed", host=wish.host, reason=problem.reason, attempt=wish.attempts + 1)


async def tell_of(tx: Tx, event: EventType, site: str, **facts: Fact) -> None:
    account, team = await store.owner_of(tx, site)
    await publish(tx, event, About(account_id=account, team_id=team, site_id=site), **facts)


def _require(noted: bool) -> None:
    if not noted:
        raise LeaseLost


def context_of(wish: Wish) -> bytes:
    """A sealed key opens only for the host it was made for."""
    return f"certificate:{wish.host}".encode()
