"""Obtains one certificate, from the order to the chain. Progress is recorded before every next step."""

import contextlib
from typing import Protocol

from stead.control.certificates.acme_client import (
    INVALID,
    PENDING,
    VALID,
    AcmeClient,
    Authorization,
    Order,
    generate_key,
)
from stead.control.certificates.acme_errors import describe_failed_challenge, describe_refusal
from stead.control.certificates.challenges import Challenges
from stead.control.certificates.edge_publisher import EdgesNotUpdated
from stead.control.certificates.rules import ClaimedCertificate, Issued, Problem
from stead.control.domains.names import is_wildcard


class OrderRecorder(Protocol):
    """Stores what must survive the worker; raises LeaseLost once another worker has the certificate."""

    async def require_order(self) -> None:
        """Call it before an order is placed. Raises Problem if the site's owner has to wait."""

    async def record_order(self, uri: str, key: bytes) -> None: ...

    async def record_challenge(self, record: str | None) -> None:
        """Store the key of the challenge that is, or may be, published."""


class Issuance:
    """`placed_order` is the URI and the private key of an earlier order that is not finished."""

    def __init__(
        self,
        claimed: ClaimedCertificate,
        acme: AcmeClient,
        *,
        challenges: Challenges,
        recorder: OrderRecorder,
        placed_order: tuple[str, bytes] | None,
    ) -> None:
        self._claimed, self._acme, self._challenges, self._recorder = claimed, acme, challenges, recorder
        self._placed_order, self._challenge = placed_order, claimed.challenge

    async def obtain_certificate(self) -> Issued:
        try:
            uri, key, order = await self._resume_or_create_order()
            if order.status == PENDING:
                await self._prove_control(order)
        finally:
            await self._withdraw_challenge()
        order = await self._acme.finalize_order(uri, key, self._claimed.host)
        if order.status != VALID:
            raise describe_refusal(order.error, self._claimed.host)
        return await self._acme.download_certificate(order, key)

    async def _resume_or_create_order(self) -> tuple[str, bytes, Order]:
        """Continue with the order of an earlier attempt: its certificate may even be issued already."""
        if self._placed_order is not None:
            uri, key = self._placed_order
            order = await self._find_order(uri)
            if order is not None and order.status != INVALID:
                return uri, key, order
        await self._recorder.require_order()
        key = generate_key()
        uri, order = await self._acme.create_order(self._claimed.host)
        await self._recorder.record_order(uri, key)
        return uri, key, order

    async def _find_order(self, uri: str) -> Order | None:
        try:
            return await self._acme.get_order(uri)
        except Problem as problem:
            if problem.reason == "ca_refused":
                return None
            raise

    async def _prove_control(self, order: Order) -> None:
        for uri, authorization in (await self._acme.get_authorizations(order)).items():
            if authorization.status == PENDING:
                await self._complete_challenge(authorization)
                authorization = await self._acme.wait_for_decision(uri)
            if authorization.status != VALID:
                raise describe_failed_challenge(authorization, self._claimed.host)

    async def _complete_challenge(self, authorization: Authorization) -> None:
        """Publish the proof. The authority is called only when every edge of the region, or the name server,
        serves it."""
        challenge, proof = self._acme.solve_challenge(authorization, by_dns=is_wildcard(self._claimed.host))
        record = self._challenges.key_of(self._claimed, challenge.chall.encode("token"))
        if self._challenge not in (None, record):
            await self._withdraw_challenge()
        await self._recorder.record_challenge(record)
        self._challenge = record
        await self._challenges.publish(self._claimed, record, proof)
        await self._acme.answer_challenge(challenge)

    async def _withdraw_challenge(self) -> None:
        """A challenge that cannot be withdrawn now stays recorded; the next attempt withdraws it."""
        if self._challenge is not None:
            with contextlib.suppress(EdgesNotUpdated):
                await self._challenges.withdraw(self._challenge)
                await self._recorder.record_challenge(None)
                self._challenge = None
