"""Handles verified deliveries of forges, each exactly once."""

from datetime import timedelta

import msgspec

from stead.control.engines.postgres import Database, Tx
from stead.control.git import push_store, replays, store
from stead.control.git.payloads import Delivery
from stead.control.git.pushes import receive_push, skip_push
from stead.control.git.rules import Connection, Push, PushDecision, PushDecisions
from stead.shared.errors import ApiError


class DeliveryHandler:
    """`poll_pause` is how long a repository is not polled after a delivery."""

    def __init__(self, database: Database, preview_domain: str, *, poll_pause: timedelta) -> None:
        self._database, self._preview_domain, self._poll_pause = database, preview_domain, poll_pause

    async def handle(self, site: str, digest: bytes, delivery: Delivery) -> PushDecisions:
        """Decide about a delivery. A repeated one gets the answer of the first.

        If the push is refused, the transaction is rolled back, and a second one records only the refusal.
        """
        refusal: ApiError | None = None
        for _ in range(2):
            try:
                async with self._database.transaction() as tx:
                    return await self._handle(tx, site, digest, delivery, refusal)
            except ApiError as refused:
                refusal = refused
        raise LookupError("recording a refusal was refused")

    async def _handle(
        self, tx: Tx, site: str, digest: bytes, delivery: Delivery, refusal: ApiError | None
    ) -> PushDecisions:
        connection = await store.lock_connection(tx, site)
        if not await push_store.insert_delivery(tx, site, digest):
            return msgspec.convert(await push_store.get_answer(tx, site, digest), PushDecisions)
        answer = PushDecisions([])
        if connection is not None and delivery.push is not None:
            answer.decisions.append(await self._decide(tx, connection, delivery, delivery.push, refusal))
        await push_store.save_answer(tx, site, digest, msgspec.to_builtins(answer))
        return answer

    async def _decide(
        self, tx: Tx, connection: Connection, delivery: Delivery, push: Push, refusal: ApiError | None
    ) -> PushDecision:
        site = connection.site_id
        if not delivery.is_for(connection.git_repo):
            await store.record_hook(tx, site, self._poll_pause)
            return PushDecision(push.branch, "ignore", reason="The push is for another repository.")
        stale = await replays.find_staleness(tx, site, delivery)
        if stale is not None:
            return PushDecision(push.branch, connection.choose_target(push.branch), reason=stale)
        await store.record_hook(tx, site, self._poll_pause)
        await replays.record_commits(tx, site, delivery)
        await store.record_branch(tx, site, push.branch, push.commit)
        if refusal is not None:
            return await skip_push(tx, connection, push, refusal)
        return await receive_push(tx, connection, push, self._preview_domain)


async def delete_old_deliveries(tx: Tx) -> int:
    return await push_store.delete_old_deliveries(tx)
