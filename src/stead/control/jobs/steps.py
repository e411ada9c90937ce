"""The activities: what a step really does, safe to repeat, and how a job ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError

from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import NotApplied
from stead.control.engines.postgres import Tx
from stead.control.http.responses import ErrorBody, doc_url
from stead.control.jobs import queue, service
from stead.control.jobs.declaration import (
    Ask,
    Control,
    Desk,
    EdgeUnreachable,
    Errand,
    Heard,
    JobCancelled,
    JobRow,
    JobTimeout,
    Labour,
    Refused,
    Tell,
)
from stead.control.jobs.presigning import addressed, with_key
from stead.control.jobs.workflow import REFUSED, Failure
from stead.control.nodes.gateway import Gateway
from stead.protocol.commands import Cancel, Command, result_of
from stead.shared.errors import ApiError, Internal, catalog

log = structlog.get_logger()

BEAT_SECONDS = 1.0
LAST_WORD = 1_000_000
"""An epoch that no asking for the step itself comes to."""


class Steps:
    def __init__(self, desk: Desk, gateway: Gateway, announcer: Announcer, docs_url: str) -> None:
        self._desk, self._database, self._gateway = desk, desk.database, gateway
        self._announcer, self._docs_url = announcer, docs_url

    @property
    def activities(self) -> list[Any]:
        return [self.perform, self.undo, self.stop, self.finish]

    @activity.defn(name="perform")
    async def perform(self, job: str, name: str) -> None:
        row = await self._row(job)
        step = row.kind.steps[name]
        await self._do(row, name, step.control, step.ask, step.tell, step.heard)
        if step.labour is not None:
            await self._labour(row, name, step.labour)

    @activity.defn(name="undo")
    async def undo(self, job: str, name: str) -> None:
        row = await self._row(job)
        step = row.kind.steps[name]
        await self._do(row, f"undo-{name}", step.undo_control, step.undo_ask, step.undo_tell)

    @activity.defn(name="stop")
    async def stop(self, job: str, name: str) -> None:
        """Whatever the node does for this step has ended when this returns."""
        row = await self._row(job)
        ask = row.kind.steps[name].ask
        errand = None if ask is None else await self._errand(row, ask)
        if errand is not None:
            async with _beating():
                await self._gateway.stop(Cancel(errand.node, job, name, LAST_WORD + activity.info().attempt))

    async def _errand(self, row: JobRow, ask: Ask) -> Errand | None:
        """None where no node is asked: what was never asked cannot be under way."""
        async with self._database.reading() as tx:
            try:
                return await ask(tx, row.kind.read(row))
            except Refused:
                return None

    @activity.defn(name="finish")
    async def finish(self, job: str, failure: Failure | None) -> None:
        row = await self._row(job)
        async with self._database.transaction() as tx:
            await service.end(tx, row, self._error(failure) if failure else None)

    async def _do(
        self,
        row: JobRow,
        place: str,
        control: Control | None,
        ask: Ask | None,
        tell: Tell | None,
        heard: Heard | None = None,
    ) -> None:
        try:
            if control is not None:
                await self._control(row, place, control)
            if ask is not None:
                await self._ask(row, place, ask, heard)
            if tell is not None:
                await self._tell(row, place, tell)
        except Refused as refusal:
            raise _final(refusal) from None

    async def _control(self, row: JobRow, place: str, control: Control) -> None:
        async with self._database.transaction() as tx:
            # In this order: whoever waits for another that is at this step does not hold the job meanwhile.
            if not await queue.first_time(tx, row.id, place):
                return
            await queue.begin(tx, row.id)
            results = await control(tx, row.kind.read(row))
            await self._require_wanted(tx, row, place)
            if results:
                kept = {key: value for key, value in results.items() if key in row.kind.results}
                await queue.add_results(tx, row.id, kept)
            if place == list(row.kind.steps)[-1]:
                # With its last step: after it nobody may cancel what cannot be undone any more.
                await queue.finish(tx, row, None)

    async def _require_wanted(self, tx: Tx, row: JobRow, place: str) -> None:
        """Nothing is begun, and no transaction ends, once it was promised that the job is cancelled."""
        if not await queue.is_wanted(tx, row.id, undoing=place not in row.kind.steps):
            raise Refused(JobCancelled.code, "")

    async def _ask(self, row: JobRow, place: str, ask: Ask, heard: Heard | None) -> None:
        async with self._database.transaction() as tx:
            await self._require_wanted(tx, row, place)
            await queue.begin(tx, row.id)
            errand = await ask(tx, row.kind.read(row))
        if errand is None:
            return
        wanted = Command(
            node=errand.node,
            job=row.id,
            step=place,
            epoch=activity.info().attempt,
            site=row.site_id,
            environment=errand.environment,
            driver=errand.driver,
            work=with_key(addressed(errand.work, self._desk.objects), self._desk.sealer, row.site_id),
            seconds=row.kind.limit.total_seconds(),
        )
        async with _beating():
            result = await self._gateway.ask(wanted)
        if result.outcome == "refused":
            raise Refused(result.code or Internal.code, result.reason or "The node refused.")
        if result.outcome != "done":
            raise ApplicationError(f"the node answered {result.outcome}")
        if heard is not None:
            async with self._database.transaction() as tx:
                await heard(tx, row.kind.read(row), result_of(errand.work, result))

    async def _labour(self, row: JobRow, place: str, labour: Labour) -> None:
        async with self._database.transaction() as tx:
            await self._require_wanted(tx, row, place)
            await queue.begin(tx, row.id)
        try:
            async with _beating():
                await labour(self._desk, row.kind.read(row))
        except Refused as refusal:
            raise _final(refusal) from None

    async def _tell(self, row: JobRow, place: str, tell: Tell) -> None:
        async with self._database.transaction() as tx:
            await self._require_wanted(tx, row, place)
            await queue.begin(tx, row.id)
            announcement = await tell(tx, row.kind.read(row))
        if announcement is None:
            return
        try:
            async with _beating():
                await self._announcer.tell(announcement.region, announcement.records)
        except NotApplied as error:
            late = EdgeUnreachable(nodes=", ".join(error.nodes))
            raise Refused(late.code, str(late)) from None

    async def _row(self, job: str) -> JobRow:
        async with self._database.reading() as tx:
            row = await queue.get(tx, job)
        if row is None:
            raise ApplicationError("there is no such job", type=REFUSED, non_retryable=True)
        return row

    def _error(self, failure: Failure) -> ErrorBody:
        known = {error.code: error for error in catalog()}.get(failure.code, Internal)
        return ErrorBody(
            type=known.type,
            message=_message(known, failure),
            code=failure.code,
            doc_url=doc_url(known, self._docs_url),
        )


def _final(refusal: Refused) -> ApplicationError:
    return ApplicationError(refusal.reason, refusal.code, refusal.reason, type=REFUSED, non_retryable=True)


def _message(known: type[ApiError], failure: Failure) -> str:
    if known is JobTimeout:
        return str(JobTimeout(limit=failure.reason))
    return failure.reason or known.message


@asynccontextmanager
async def _beating() -> AsyncIterator[None]:
    beating = asyncio.create_task(_beat())
    try:
        yield
    finally:
        beating.cancel()


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(BEAT_SECONDS)
