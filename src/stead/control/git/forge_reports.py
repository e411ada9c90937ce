"""Tells forges how builds are going: a status of the commit, and a comment with the URL of a preview.

Reports never delay a build. A forge that is slow or fails delays only the reports of its own owner.
"""

import asyncio
from datetime import timedelta

import structlog

from stead.control.deployments import service as deployments
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.git import report_store
from stead.control.git.forge_api import ForgeApi
from stead.control.git.forge_rules import BuildProgress, CommitReport, ForgeRefused
from stead.control.git.report_store import DueReport, WrittenComment
from stead.control.git.service import forge_token_context
from stead.control.http.host_names import InvalidUrl
from stead.control.jobs.definition import Refused
from stead.control.sealing import SealBroken, Sealer
from stead.control.sites import repositories
from stead.control.webhooks.client import HttpsClient

log = structlog.get_logger()

SLOTS, PER_OWNER = 16, 2
SEND_SECONDS = 45.0
"""The limit for one report: a status, and a comment with its pull request."""
LEASE = timedelta(seconds=60)
CHECK_AGAIN = timedelta(seconds=2)
"""How often a build that has not ended is looked at."""
MAX_ATTEMPTS = 6
KEPT_FOR = timedelta(days=1)
_CLAIM_SECONDS = 1.0


class Reporter:
    """`extra_ports` are ports that repositories may use besides those of https and ssh."""

    def __init__(
        self,
        database: Database,
        client: HttpsClient,
        sealer: Sealer,
        *,
        extra_ports: frozenset[int] = frozenset(),
    ) -> None:
        self._database, self._client, self._sealer = database, client, sealer
        self._extra_ports = extra_ports
        self._running: dict[asyncio.Task[None], DueReport] = {}

    async def run(self) -> int:
        """Send all reports that are due. Returns how many were looked at."""
        try:
            looked_at = await self._start_due()
            while self._running:
                await asyncio.wait(self._running, timeout=_CLAIM_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in [each for each in self._running if each.done()]:
                    del self._running[task]
                looked_at += await self._start_due() if self._running else 0
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._running.clear()
        async with self._database.transaction() as tx:
            await report_store.delete_old(tx, KEPT_FOR)
        return looked_at

    async def _start_due(self) -> int:
        free = SLOTS - len(self._running)
        if free <= 0:
            return 0
        busy = [each.owner for each in self._running.values()]
        async with self._database.transaction() as tx:
            due = await report_store.claim_due(tx, LEASE, free, busy, per_owner=PER_OWNER)
        for each in due:
            self._running[asyncio.create_task(self._report_safely(each))] = each
        return len(due)

    async def _report_safely(self, due: DueReport) -> None:
        """A report that cannot be sent now is due again after the lease."""
        try:
            await self._report(due)
        except DATABASE_UNREACHABLE as error:
            log.warning("git.report_postponed", build=due.build_id, reason=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - the other reports must still be sent
            log.error("git.report_failed", build=due.build_id, error=type(error).__name__)

    async def _report(self, due: DueReport) -> None:
        async with self._database.transaction() as tx:
            progress = await report_store.get_progress(tx, due.build_id)
            if progress is None or not progress.can_be_sent:
                await report_store.delete(tx, due.build_id)
                return
            try:
                target = await deployments.get_target(tx, progress.env_id)
            except Refused:
                await report_store.delete(tx, due.build_id)
                return
            earlier = await report_store.find_comment(tx, progress.env_id)
        report = progress.report(target.origin)
        try:
            if report is not None and report.state != progress.sent:
                written = await self._send(progress, report, earlier)
                await self._record(progress, report, written)
                return
        except ForgeRefused as refused:
            await self._record_failure(progress, refused)
            return
        await self._check_again(progress)

    async def _send(
        self, progress: BuildProgress, report: CommitReport, earlier: WrittenComment | None
    ) -> WrittenComment | None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                api = self._open_api(progress)
                await api.set_status(report)
                if report.url and progress.environment_type == "branch" and progress.branch:
                    return await _comment(api, progress.branch, report, earlier)
        except TimeoutError:
            raise ForgeRefused(0, "The forge did not answer in time.") from None
        return None

    def _open_api(self, progress: BuildProgress) -> ForgeApi:
        if progress.forge is None or progress.token is None:
            raise ForgeRefused(401)
        try:
            repository = repositories.parse_url(progress.git_repo or "")
            repositories.require_allowed_port(repository, self._extra_ports)
            token = self._sealer.open(progress.token, context=forge_token_context(progress.site_id))
        except InvalidUrl as invalid:
            raise ForgeRefused(400, f"This repository cannot be used: {invalid}") from None
        except SealBroken:
            raise ForgeRefused(401, "The token cannot be read. Set it again.") from None
        return ForgeApi(self._client, progress.forge, repository, token.decode())

    async def _record(
        self, progress: BuildProgress, report: CommitReport, written: WrittenComment | None
    ) -> None:
        async with self._database.transaction() as tx:
            await report_store.set_error(tx, progress.site_id, None)
            if written is not None:
                await report_store.save_comment(tx, progress.env_id, written)
            if report.state == "pending":
                await report_store.postpone(tx, progress.build_id, CHECK_AGAIN, sent=report.state, attempts=0)
            else:
                await report_store.delete(tx, progress.build_id)

    async def _record_failure(self, progress: BuildProgress, refused: ForgeRefused) -> None:
        attempts = progress.attempts + 1
        log.info("git.not_reported", build=progress.build_id, status=refused.status)
        async with self._database.transaction() as tx:
            await report_store.set_error(tx, progress.site_id, str(refused))
            if refused.is_final or attempts >= MAX_ATTEMPTS:
                await report_store.delete(tx, progress.build_id)
                return
            delay = CHECK_AGAIN * 2**attempts
            await report_store.postpone(tx, progress.build_id, delay, sent=progress.sent, attempts=attempts)

    async def _check_again(self, progress: BuildProgress) -> None:
        async with self._database.transaction() as tx:
            if progress.state == "pending":
                await report_store.postpone(
                    tx, progress.build_id, CHECK_AGAIN, sent=progress.sent, attempts=progress.attempts
                )
            else:
                await report_store.delete(tx, progress.build_id)


async def _comment(
    api: ForgeApi, branch: str, report: CommitReport, earlier: WrittenComment | None
) -> WrittenComment | None:
    number = await api.find_pull_request(branch)
    if number is None:
        return None
    known = earlier.comment if earlier is not None and earlier.number == number else None
    text = f"Preview of {report.commit[:12]}: {report.url}"
    return WrittenComment(number, await api.comment(number, text, earlier=known))
