"""One certificate, from the order to the chain. Every step that must not be lost is noted before the next."""

import contextlib
from typing import Protocol

from acme import messages

from stead.control.certificates import authority as ca
from stead.control.certificates.authority import Authority
from stead.control.certificates.edges import EdgeDoor, EdgesSilent, region_of
from stead.control.certificates.rules import Issued, Problem, Wish
from stead.protocol.edge import Challenge, challenge_key


class Journal(Protocol):
    """What survives the worker; raises LeaseLost once the wish is another's."""

    async def ordered(self, uri: str | None, key: bytes | None) -> None: ...

    async def challenged(self, record: str | None) -> None:
        """Which record the edges have, or may have, of a challenge."""


class Issuing:
    """`order` is the address and the key of one that was placed before and has not ended."""

    def __init__(
        self,
        wish: Wish,
        authority: Authority,
        *,
        door: EdgeDoor,
        journal: Journal,
        order: tuple[str, bytes] | None,
    ) -> None:
        self._wish, self._authority, self._door, self._journal = wish, authority, door, journal
        self._placed, self._challenge = order, wish.challenge

    async def certificate(self) -> Issued:
        try:
            uri, key, order = await self._order()
            if order.status == messages.STATUS_PENDING:
                await self._prove(order)
        finally:
            await self._hide()
        order = await self._authority.finalized(uri, key, self._wish.host)
        if order.status != messages.STATUS_VALID:
            raise ca.refusal(order.error, self._wish.host)
        return await self._authority.download(order, key)

    async def _order(self) -> tuple[str, bytes, messages.Order]:
        """What a worker before us ordered is taken up: its certificate may even be there already."""
        if self._placed is not None:
            uri, key = self._placed
            order = await self._look(uri)
            if order is not None and order.status != messages.STATUS_INVALID:
                return uri, key, order
        key = ca.new_key()
        uri, order = await self._authority.order(self._wish.host)
        await self._journal.ordered(uri, key)
        return uri, key, order

    async def _look(self, uri: str) -> messages.Order | None:
        try:
            return await self._authority.look(uri)
        except Problem as problem:
            if problem.reason == "ca_refused":
                return None
            raise

    async def _prove(self, order: messages.Order) -> None:
        for uri, authorization in (await self._authority.authorizations(order)).items():
            if authorization.status == messages.STATUS_PENDING:
                await self._show(authorization)
                authorization = await self._authority.decided(uri)
            if authorization.status != messages.STATUS_VALID:
                raise ca.unproved(authorization, self._wish.host)

    async def _show(self, authorization: messages.Authorization) -> None:
        """The authority is called only when every edge of the region knows the answer."""
        challenge, answer = self._authority.answer_to(authorization)
        region, token = self._wish.region, challenge.chall.encode("token")
        record = challenge_key(region, token)
        if self._challenge not in (None, record):
            await self._hide()
        await self._journal.challenged(record)
        self._challenge = record
        await self._door.tell(region, {record: Challenge(self._wish.host, answer)})
        await self._authority.answer(challenge)

    async def _hide(self) -> None:
        """What cannot be hidden now is noted, and hidden by the next attempt: no reason to fail."""
        if self._challenge is not None:
            with contextlib.suppress(EdgesSilent):
                await self._door.tell(region_of(self._challenge), {self._challenge: None})
                await self._journal.challenged(None)
                self._challenge = None
