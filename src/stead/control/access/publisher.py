"""Brings nodes the lists of who may enter their environments, within a second or two of a change.

A list is desired state: it is delivered until the node confirms it, and a node that was away gets the current
one when it is back. It is no step of a job, because a permission that ends must not wait for one.
"""

import asyncio
import contextlib
from collections import Counter
from datetime import timedelta

import structlog

from stead.control.access import lists, store
from stead.control.access.store import DueList
from stead.control.engines.postgres import DATABASE_FAILED, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.nodes.gateway import Gateway
from stead.control.tasks import LongRunningTask, PeriodicTask, Task
from stead.protocol.commands import Command, Result
from stead.protocol.sealed_work import NodeKeyMissing, seal_work

SUBJECT = "access"
"""Of notifications, and in the place of a job in commands."""
POLL_SECONDS = 1.0
ANSWER_SECONDS = 5.0
RETRY_AFTER = timedelta(seconds=6)
REFUSED_AFTER = timedelta(minutes=10)
COMPARE_SECONDS = 3600.0
BATCH_SIZE = 100
MAX_SENDING, MAX_SENDING_TO_NODE = 64, 8

log = structlog.get_logger()


class AccessPublisher:
    def __init__(self, database: Database, listener: PostgresListener, gateway: Gateway) -> None:
        self._database, self._listener, self._gateway = database, listener, gateway
        self._sending: dict[asyncio.Task[None], str] = {}
        """With the node of each delivery."""

    def tasks(self) -> list[Task]:
        return [
            LongRunningTask("access.publish", self.run),
            PeriodicTask("access.compare", COMPARE_SECONDS, self.compare_all),
        ]

    async def run(self) -> None:
        try:
            with self._listener.watching(SUBJECT) as changed:
                while True:
                    changed.clear()
                    more = await self.update_lists()
                    await self._start_deliveries()
                    if more:
                        continue
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await changed.wait()
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def update_lists(self) -> bool:
        """For sites that have changed. Returns whether there may be more of them."""
        async with self._database.reading() as tx:
            sites = await store.list_changed_sites(tx, BATCH_SIZE)
        failed = [site for site in sites if not await self._update_lists_of(site)]
        return len(sites) >= BATCH_SIZE and len(failed) < len(sites)

    async def compare_all(self) -> None:
        """Compare the lists of all sites with what they should be, next to the changes, which do not wait."""
        after = ""
        while True:
            async with self._database.reading() as tx:
                sites = await store.list_sites(tx, after, BATCH_SIZE)
            for site in sites:
                await self._update_lists_of(site)
            if len(sites) < BATCH_SIZE:
                return
            after = sites[-1]

    async def _update_lists_of(self, site: str) -> bool:
        """A site whose lists cannot be computed must not delay those of others."""
        try:
            async with self._database.transaction() as tx:
                await lists.update_lists(tx, site)
        except DATABASE_FAILED:
            raise
        except Exception:
            log.exception("access.not_updated", site=site)
            async with self._database.transaction() as tx:
                await store.postpone_changes(tx, site)
            return False
        return True

    async def deliver_due(self) -> None:
        """Deliver what is due now, and return when all of it was answered or given up for now."""
        await self._start_deliveries()
        if self._sending:
            await asyncio.wait(self._sending)

    async def _start_deliveries(self) -> None:
        """A node that does not answer delays no other one."""
        if len(self._sending) >= MAX_SENDING:
            return
        counts = Counter(self._sending.values())
        busy = [node for node, count in counts.items() if count >= MAX_SENDING_TO_NODE]
        async with self._database.transaction() as tx:
            limit = MAX_SENDING - len(self._sending)
            due = await store.claim_due(tx, RETRY_AFTER, limit, busy, MAX_SENDING_TO_NODE)
        for each in due:
            task = asyncio.create_task(self._deliver(each))
            self._sending[task] = each.node_id
            task.add_done_callback(lambda done: self._sending.pop(done, None))

    async def _deliver(self, due: DueList) -> None:
        try:
            result = await self._gateway.try_command(_address(due), ANSWER_SECONDS)
            if result is not None:
                async with self._database.transaction() as tx:
                    await _record(tx, due, result)
        except NodeKeyMissing:
            log.warning("access.node_without_key", node=due.node_id)
        except DATABASE_FAILED as error:
            log.warning("access.not_recorded", node=due.node_id, error=type(error).__name__)


async def _record(tx: Tx, due: DueList, result: Result) -> None:
    if result.outcome == "done":
        await store.mark_delivered(tx, due)
    elif result.outcome == "refused":
        log.warning("access.refused", node=due.node_id, code=result.code)
        await store.mark_refused(tx, due, result.code or "internal", REFUSED_AFTER)


def _address(due: DueList) -> Command:
    step = f"{due.env_id}-{due.generation}"
    work, sealed = seal_work(lists.read_work(due), due.public_key, node=due.node_id, job=SUBJECT, step=step)
    return Command(
        node=due.node_id,
        job=SUBJECT,
        step=step,
        epoch=1,
        site=due.site_id,
        environment=due.env_id,
        driver=due.driver,
        work=work,
        seconds=60.0,
        sealed=sealed,
    )
